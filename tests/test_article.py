"""The two tests that the article ends with, as it has them, against the public names."""

import pytest

from guardrails_plugins import SentenceGate, SentenceSplitter

ANSWER = "The reading room opens early [S1]. Is the café open? Yes, on weekdays [S2]."


def pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


def split_streamed(text, size):
    splitter = SentenceSplitter()
    sentences = [s for piece in pieces(text, size) for s in splitter.feed(piece)]
    tail = splitter.flush()
    return sentences + ([tail] if tail else [])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_piece_size_does_not_change_sentences(size):
    assert split_streamed(ANSWER, size) == split_streamed(ANSWER, len(ANSWER))


def test_unsupported_value_never_reaches_the_reader():
    gate = SentenceGate(sources=["The library opens at nine."])
    released = ""
    for piece in pieces("It opens at nine [S1]. Late fees ended in 2019 [S1]. More", 7):
        outcome = gate.feed(piece)
        released += outcome.text
        if outcome.stopped:
            break
    assert "2019" not in released and gate.stopped  # noqa: PT018
