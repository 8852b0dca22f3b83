"""Eight numbers at once, as a type of numba: what one instruction of a vector unit works on.

numba leaves it to LLVM to find vectors in loops over single numbers, which it does not in short or strided ones. These
are LLVM's own vectors: a processor with narrower registers takes two or four for each.

`take` and `put` go between arrays and lanes, `flags` and `store_flags` between bytes and lanes, `splat` from one number to
eight, `total` from eight to one. Between lanes there are + - *, `magnitude`, `larger`, `smaller`, `where_above`, `where_from`, `ones_from`
and `any_between`.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, register_model

LANES = 8
"""Numbers in one vector, and channels in one tile."""


class Lanes(types.Type):
    """Eight numbers of one dtype."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")

    @property
    def key(self) -> types.Type:
        """What tells two such types apart."""
        return self.dtype


@register_model(Lanes)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager, kind):
        # A value of this type is one LLVM vector: it stays in registers and has no memory of its own.
        inner = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(inner, LANES))


def _pointer(context, builder, kind, array, index):
    """Of eight neighbours in a flat array, from an index on that may be anywhere."""
    data = context.make_array(kind)(context, builder, array).data
    first = builder.gep(data, [index])
    inner = context.get_data_type(kind.dtype)
    return builder.bitcast(first, ir.VectorType(inner, LANES).as_pointer()), context.get_abi_sizeof(inner)


@intrinsic
def take(_, array, index):
    """Eight neighbours of an array, from an index on."""

    def emit(context, builder, signature, arguments):
        pointer, size = _pointer(context, builder, signature.args[0], *arguments)
        loaded = builder.load(pointer)
        # Aligned as one number and not as eight, since the index may be anywhere: LLVM would else be free to take an
        # instruction that fails between two multiples of the vector's size.
        loaded.align = size
        return loaded

    return Lanes(array.dtype)(array, types.intp), emit


@intrinsic
def put(_, array, index, value):
    """Write eight neighbours of an array, from an index on."""

    def emit(context, builder, signature, arguments):
        pointer, size = _pointer(context, builder, signature.args[0], *arguments[:2])
        # As in `take`.
        builder.store(arguments[2], pointer).align = size
        return context.get_dummy_value()

    return types.void(array, types.intp, value), emit


def _spread(builder, value):
    # LLVM's idiom for a broadcast: into the first lane, then that lane everywhere. It becomes one instruction.
    kind = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), places)


@intrinsic
def splat(_, value):
    """One number eight times."""

    def emit(context, builder, signature, arguments):
        return _spread(builder, arguments[0])

    return Lanes(value)(value), emit


def _operator(symbol, name):
    """Give lanes an operator. Its lowering is direct: an overload would be compiled as a function of its own."""

    @infer_global(symbol)
    class _Typed(AbstractTemplate):
        def generic(self, arguments, keywords):
            if not keywords and isinstance(arguments[0], Lanes) and set(arguments) == {arguments[0]}:
                return signature(arguments[0], *arguments)
            return None

    @lower_builtin(symbol, Lanes, Lanes)
    def _lowered(context, builder, signature, arguments):
        # A product and a sum may become one instruction; nothing else is relaxed.
        return getattr(builder, name)(*arguments, flags=("contract",))


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")


@intrinsic
def total(_, value):
    """The sum of the eight."""

    def emit(context, builder, signature, arguments):
        # By halves, and without leave to reorder: the order is fixed, so the bits do not depend on the processor.
        partial, width = arguments[0], LANES
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(
                    partial,
                    partial,
                    ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width))),
                )
                for start in (0, width)
            ]
            partial = builder.fadd(*halves)
        return builder.extract_element(partial, ir.Constant(ir.IntType(32), 0))

    return value.dtype(value), emit


@intrinsic
def magnitude(_, value):
    """Absolute values."""

    def emit(context, builder, signature, arguments):
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(arguments[0].type, [arguments[0].type]),
            f"llvm.fabs.v{LANES}f{context.get_abi_sizeof(arguments[0].type.element) * 8}",
        )
        return builder.call(function, arguments)

    return value(value), emit


def _chosen(sign):
    @intrinsic
    def pick(_, left, right):
        def emit(context, builder, signature, arguments):
            # A comparison with NaN is false, so the second argument stays: callers have what was found so far in its place.
            return builder.select(builder.fcmp_ordered(sign, *arguments), *arguments)

        return left(left, right), emit

    return pick


larger, smaller = _chosen(">"), _chosen("<")


@intrinsic
def where_above(_, value, floor):
    """The values above the floor, and zero."""

    def emit(context, builder, signature, arguments):
        # NaN is above nothing: it becomes zero, and so no residual.
        above = builder.fcmp_ordered(">", *arguments)
        return builder.select(above, arguments[0], ir.Constant(arguments[0].type, None))

    return value(value, floor), emit


@intrinsic
def where_from(_, value, floor, other):
    """The values that are the floor or more, and `other`."""

    def emit(context, builder, signature, arguments):
        value, floor, other = arguments
        return builder.select(builder.fcmp_ordered(">=", value, floor), value, other)

    return value(value, floor, other), emit


@intrinsic
def ones_from(_, value, floor):
    """One where a value is the floor or more, and zero."""

    def emit(context, builder, signature, arguments):
        # Floats, so that counts add up in the lanes as sums do; float32 counts exactly to 2**24.
        kind = arguments[0].type
        above = builder.fcmp_ordered(">=", *arguments)
        return builder.select(above, ir.Constant(kind, [1.0] * LANES), ir.Constant(kind, None))

    return value(value, floor), emit


@intrinsic
def any_between(_, value, low, high):
    """Whether any of the values is `low` or more, and less than `high`."""

    def emit(context, builder, signature, arguments):
        value, low, high = arguments
        inside = builder.and_(builder.fcmp_ordered(">=", value, low), builder.fcmp_ordered("<", value, high))
        # The eight bits as one integer: one branch for eight channels.
        return builder.icmp_unsigned(
            "!=", builder.bitcast(inside, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
        )

    return types.boolean(value, low, high), emit


@intrinsic
def flags(_, array, index, like):
    """Eight bytes as numbers, in the dtype of `like`."""

    def emit(context, builder, signature, arguments):
        pointer, _ = _pointer(context, builder, signature.args[0], *arguments[:2])
        loaded = builder.load(pointer)
        loaded.align = 1
        # By way of 32 bits, the width that vector units turn into floats.
        wide = builder.zext(loaded, ir.VectorType(ir.IntType(32), LANES))
        return builder.sitofp(wide, arguments[2].type)

    return like(array, types.intp, like), emit


@intrinsic
def store_flags(_, array, index, value, floor):
    """Write eight bytes: 1 where a value is the floor or more, and 0."""

    def emit(context, builder, signature, arguments):
        pointer, _ = _pointer(context, builder, signature.args[0], *arguments[:2])
        above = builder.fcmp_ordered(">=", *arguments[2:])
        builder.store(builder.zext(above, ir.VectorType(ir.IntType(8), LANES)), pointer).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, value, floor), emit
