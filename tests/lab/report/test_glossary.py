from crest.lab.report.glossary import GLOSSARY, MANUAL_WORDS, term_id, with_terms


def test_every_word_has_an_address_of_its_own() -> None:
    assert len({term_id(word) for word in GLOSSARY}) == len(GLOSSARY)


def test_the_first_mention_is_a_link_and_text_stays_text() -> None:
    text = str(with_terms("<b> ECM, ECM and Prec@|E|; CREST holds."))
    assert text.startswith("&lt;b&gt; ")
    assert text.count("term-ecm") == 1
    assert text.count("term-prec-e") == 1
    assert "term-holds" not in text


def test_parts_of_words_are_no_words() -> None:
    assert str(with_terms("IDEAL eventful OODs")) == "IDEAL eventful OODs"


def test_report_and_manual_share_their_words() -> None:
    """One meaning for each word: what stands in both stands there alike."""
    assert {"event", "cue", "ID", "OOD", "credit"} <= set(GLOSSARY) & set(MANUAL_WORDS)
    assert all(GLOSSARY[word] == MANUAL_WORDS[word] for word in set(GLOSSARY) & set(MANUAL_WORDS))
    assert {"tie", "expected error"} <= set(MANUAL_WORDS)
    assert "ΔOOD" not in MANUAL_WORDS


def test_a_word_that_pages_also_use_is_in_the_list() -> None:
    assert "*swap*" in MANUAL_WORDS["exchange"]
