"""The one glossary: the report's list and the manual's page of words are both made of it.

In the report, a word's first mention in a text is a link that opens its meaning.
"""

import re

import markupsafe

_DATA = {
    "event": "The brief part of a trajectory that decides the label, such as a knock.",
    "cue": "A quantity that goes with the label in training and not in the field, such as a speed.",
    "ID": "In distribution: data as in training, where the cue tells the label. Errors are of held-out data.",
    "OOD": "Out of distribution: the cue no longer tells the label.",
    "error": "Root mean square error in standard deviations of the label: 0 is perfect, 1 is a guess.",
    "error rate": "For classes: the share of trajectories whose class is wrong. 0 is perfect.",
}
_AUDIT = {
    "trajectory": "One window, recording or simulation: T steps of C channels, with one label.",
    "label, target": "What the model predicts for a trajectory: a number or a class.",
    "condition": "What is known of how a trajectory was recorded: a speed, a load, a machine.",
    "nuisance": "What an operating condition can change in a signal: one of the next seven. Each may be a cue.",
    "offset": "The level of the window, without its most transient steps.",
    "drift": "What is slow around the offset: at most some eleven waves in a window.",
    "tones": "Steady sines, as large at the end of the window as at its start.",
    "gain": "How loud the fast part is, by a robust scale.",
    "colour": "The smoothed spectrum of the fast part: where its power is, without its size.",
    "rate": "How fast time runs. It is exchanged by stretching time, by a factor of 2 at most.",
    "surroundings": "Everything around the core, exchanged by its spectrum.",
    "background, transient": "The smooth part of a signal, and the rest. The two add up to the signal.",
    "exchange": "One trajectory gets a nuisance, or the background, of another. How far does the prediction move? Pages also write *swap*.",
    "declared, invariant": "Nuisances that must not change the prediction: invariant=, by default offset, drift and tones.",
    "moved": "Root mean square change of the predictions, in standard deviations of the predictions.",
    "expected error": "The error with the declared nuisances exchanged: the error to expect once they no longer follow the target.",
    "tie": "How well the condition tells the target in your data: Cramér's V, 0 to 1. A rare pair of the two breaks the tie.",
    "even error": "The error averaged evenly over the pairs of target and condition in your data.",
    "remedy": "A change of the input, of the training batches or of the pooling that crest.repair can try.",
}
_CREST = {
    "CREST": "Credit RE-anchoring through Sparse Transient readout: a readout that selects transient steps without labels.",
    "transience": "How far a step's features are from what is smooth around it.",
    "core": "The most transient steps. CREST selects them, and each channel of the features votes.",
    "budget": "The share of the steps that CREST selects.",
    "credit": "Each step's part in the direction of the pooled vector, as a share of the whole.",
    "chance": "The share of event steps: what credit that is spread evenly would put on them.",
    "CiE@1": "Credit in Event: how often the step with the most credit is an event step. Elsewhere: Pointing Game.",
    "ECM": "Event Credit Mass: the share of the credit that is on event steps. Elsewhere: Relevance Mass Accuracy.",
    "Prec@|E|": "The hits among as many top steps as there are event steps. Elsewhere: Relevance Rank Accuracy.",
}
_LAB = {
    "features": "The output of the encoder: (B, T, D), one vector of D numbers at each step.",
    "readout, pooling": "The layer that turns features (B, T, D) into one vector (B, D).",
    "contrast weight": "The pooled vector is this much of (selected steps less the rest). What remains is the plain mean.",
    "votes": "How many feature channels selected a step: a guess of where the event is.",
    "seed": "Sets data, first weights and batch order. Seeds 0 to 9 are reported, 1000 and up are for development.",
    "run, record": "One training, and the file that keeps what it measured.",
    "experiment": "A list of runs, and the table or figure made of their records.",
}
_REPORT = {
    "attention": "Attention pooling: a learned weight for each step. Two forms are compared, dot product with a learned query and "
    "MLP-scored; claims are judged against the one with the lower ID error.",
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
GLOSSARY = _DATA | _CREST | _REPORT
"""What the report lists, in its order."""
MANUAL_WORDS = _DATA | _AUDIT | _CREST | _LAB
"""What docs/user/words.md lists, in its order."""

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
