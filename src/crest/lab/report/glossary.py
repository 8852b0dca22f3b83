"""The words of the page, each with its meaning; where they stand in a text, they are links that open it."""

import re

import markupsafe

GLOSSARY = {
    "ID": "In distribution: data as in training, the cue tells the label.",
    "OOD": "Out of distribution: the cue no longer tells the label.",
    "error": "Root mean square error in units of the label's standard deviation: 0 is perfect, 1 is a guess.",
    "error rate": "Where labels are classes: the share of trajectories whose class is wrong. 0 is perfect.",
    "attention": "Attention pooling: a learned weight for each step. Two forms are compared, dot product with a learned query and "
    "MLP-scored; claims are judged against the one with the lower ID error.",
    "CREST": "A readout that selects transient steps without labels and anchors the pooled vector on them.",
    "event": "The brief part of a trajectory that decides the label.",
    "cue": "A smooth quantity that happens to correlate with the label in training, and not in the field.",
    "credit": "Each step's part in the direction of the pooled vector, as a share of the whole.",
    "chance": "The share of event steps: what credit that is spread evenly would put on them.",
    "CiE@1": "Credit in Event: how often the step with the most credit is an event step.",
    "ECM": "Event Credit Mass: the share of the credit that is on event steps.",
    "Prec@|E|": "The hits among as many top steps as there are event steps.",
    "transience": "How far a step's features are from what is smooth around it.",
    "core": "The steps that CREST selects; each channel of the features votes.",
    "budget": "The share of the steps that CREST selects.",
    "SG-Drive": "A simulated gear drive: label the severity of a tooth's fault, events its engagements, cue the speed.",
    "Impact": "A simulated oscillator against a wall: label its log stiffness, events the contacts, cue the drive's amplitude.",
    "CWRU": "Real bearings: label the fault's diameter, events by order tracking.",
    "ΔOOD": "Change of the OOD error against the form of attention with the lower ID error; below 0 is better.",
    "smallest p": "The smallest p that this many seeds can give.",
    "holds": "What the claim's row asks for was found.",
    "partly": "At least half of the claimed size was found, in the claimed direction on every seed.",
    "does not hold": "The bar was missed, and so was half of the claimed size or the direction on some seed.",
    "not measured": "A run is missing.",
}
"""In the order of the page's list."""

_WORDS = re.compile(
    r"(?<![\w@|])("
    + "|".join(re.escape(word) for word in sorted(GLOSSARY, key=len, reverse=True))
    + r")(?![\w@|])"
)
_SPOKEN = {"holds", "partly", "does not hold", "not measured"}
"""Words of verdicts, which mean something else in a sentence: they are in the list alone."""


def term_id(word: str) -> str:
    """The address of a word in the list.

    Example:
        >>> term_id("Prec@|E|"), term_id("ΔOOD")
        ('term-prec-e', 'term-change-ood')
    """
    named = word.replace("Δ", "change ").lower()
    return "term-" + re.sub(r"[^a-z0-9]+", "-", named).strip("-")


def with_terms(text: str) -> markupsafe.Markup:
    """The text, escaped, with the first mention of each word as a link to its meaning.

    Example:
        >>> print(with_terms("The OOD error."))
        The <a class="term" href="#term-ood">OOD</a> <a class="term" href="#term-error">error</a>.
    """
    seen: set[str] = set()
    parts: list[str] = []
    end = 0
    for found in _WORDS.finditer(text):
        word = found[1]
        if word in seen or word in _SPOKEN:
            continue
        seen.add(word)
        parts.append(str(markupsafe.escape(text[end : found.start()])))
        parts.append(f'<a class="term" href="#{term_id(word)}">{markupsafe.escape(word)}</a>')
        end = found.end()
    return markupsafe.Markup("".join([*parts, str(markupsafe.escape(text[end:]))]))
