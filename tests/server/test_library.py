"""Documents and retrieval: ten languages found, only changed documents read anew, nonsense refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardrails_plugins import SourceIndex, build_prompt, check_text
from guardrails_plugins.core.policy import GatePolicy
from guardrails_plugins.server.documents import DocumentError, files, passages, read
from guardrails_plugins.server.providers import Request, extract_answer
from guardrails_plugins.server.retrieval import Library

TEXTS = {
    "en": ("The lighthouse keeper lights the lamp at 19:40 every evening.", "When does the lighthouse keeper light the lamp?", "19:40"),
    "de": ("Der Leuchtturmwärter zündet die Lampe jeden Abend um 19:40 Uhr an.", "Wann zündet der Leuchtturmwärter die Lampe an?", "19:40"),
    "fr": ("Le gardien du phare allume la lampe chaque soir à 19 h 40.", "Quand le gardien du phare allume-t-il la lampe ?", "19 h 40"),
    "es": ("El farero enciende la lámpara cada noche a las 19:40.", "¿Cuándo enciende el farero la lámpara?", "19:40"),
    "pt": ("O faroleiro acende a lâmpada todas as noites às 19:40.", "Quando o faroleiro acende a lâmpada?", "19:40"),
    "ru": ("Смотритель маяка зажигает лампу каждый вечер в 19:40.", "Когда смотритель маяка зажигает лампу?", "19:40"),
    "fa": ("فانوس‌بان هر شب چراغ را ساعت ۱۹:۴۰ روشن می‌کند.", "فانوس‌بان چراغ را چه ساعتی روشن می‌کند؟", "۱۹:۴۰"),
    "ar": ("يشعل حارس المنارة المصباح كل مساء في الساعة ١٩:٤٠.", "متى يشعل حارس المنارة المصباح؟", "١٩:٤٠"),
    "hi": ("प्रकाशस्तंभ का रक्षक हर शाम १९:४० पर दीपक जलाता है।", "प्रकाशस्तंभ का रक्षक दीपक कब जलाता है?", "१९:४०"),
    "zh": ("灯塔看守人每天晚上19:40点亮灯火。", "灯塔看守人什么时候点亮灯火？", "19:40"),
}  # fmt: skip
OTHER = {
    "en": "The market sells apples and cheese.", "de": "Auf dem Markt gibt es Äpfel.", "fr": "Le marché vend des pommes.",
    "es": "El mercado vende manzanas.", "pt": "O mercado vende maçãs.", "ru": "На рынке продают яблоки.",
    "fa": "بازار سیب می‌فروشد.", "ar": "يبيع السوق التفاح.", "hi": "बाज़ार में सेब मिलते हैं।", "zh": "市场出售苹果。",
}  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for code, (text, _, _) in TEXTS.items():
        (tmp_path / f"{code}.md").write_text(f"# {code}\n\n{text}\n\n# x\n\n{OTHER[code]}\n", encoding="utf-8")
    made = Library(tmp_path)
    made.index()
    return made


@pytest.mark.parametrize("code", TEXTS)
def test_a_question_finds_its_passage_and_the_embedded_provider_answers(library: Library, code: str) -> None:
    text, question, value = TEXTS[code]
    found = library.search(question)
    assert found[0].passage.text == text
    index = SourceIndex([f.passage.text for f in found], language=code)
    policy = GatePolicy()
    prompt = build_prompt(index, language=code)
    answer = extract_answer(Request(question, code, prompt, (), index, policy))
    outcome = check_text(answer, index, language=code)
    assert outcome.state == "completed"
    assert value in outcome.text


@pytest.mark.parametrize(
    "question",
    ["What is the mass of a proton?", "xyzzy", "", "?!", "the of and", "Каков вес протона?", "质子的质量是多少？"],
)
def test_a_question_that_nothing_supports_finds_nothing(library: Library, question: str) -> None:
    assert library.search(question) == []


def test_arabic_and_persian_letters_are_found_in_either_spelling(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("كتابخانهٔ مركزى ساعت ۸ باز مى‌شود.", encoding="utf-8")
    library = Library(tmp_path)
    library.index()
    assert library.search("کتابخانه مرکزی کی باز می‌شود؟")


def test_quotes_and_operators_in_a_question_are_words(library: Library) -> None:
    for question in (
        '"lighthouse" OR lamp*',
        "lighthouse NEAR keeper",
        "lamp:keeper -x ^y",
        "'; DROP TABLE passages; --",
    ):
        library.search(question)
    assert len(library) == 2 * len(TEXTS)


def test_only_what_changed_is_read_anew(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The lighthouse lamp is lit.", encoding="utf-8")
    (docs / "b.txt").write_text("The market sells apples.", encoding="utf-8")
    first = Library(docs, tmp_path / "index.db")
    assert (first.index().read, len(first)) == (2, 2)
    first.close()
    (docs / "a.md").write_text("The foghorn sounds at night.", encoding="utf-8")
    (docs / "b.txt").unlink()
    second = Library(docs, tmp_path / "index.db")
    done = second.index()
    assert (done.read, done.kept, done.dropped) == (1, 0, 1)
    assert second.index().kept == 1
    assert second.search("lighthouse lamp lit") == []
    assert second.search("foghorn sounds night")


def test_html_is_read_as_its_visible_text(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        "<html><head><title>x</title><style>p{}</style></head><body><h2>Fees</h2><p>The fee is 7&nbsp;euros.</p>"
        "<script>alert(1)</script><p>Dogs<br>pay nothing.</p></body></html>",
        encoding="utf-8",
    )
    parts = list(passages("a.html", read(page)))
    assert parts[0].title == "Fees"
    assert "The fee is 7 euros." in parts[0].text.replace("\u00a0", " ")
    assert "alert" not in parts[0].text


def test_a_pdf_is_read(tmp_path: Path) -> None:
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject(
        {NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
         NameObject("/BaseFont"): NameObject("/Helvetica")}
    )  # fmt: skip
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
    )
    content = DecodedStreamObject()
    content.set_data(b"BT /F1 12 Tf 20 200 Td (The foghorn sounds at night.) Tj ET")
    page[NameObject("/Contents")] = writer._add_object(content)
    path = tmp_path / "a.pdf"
    writer.write(path)
    assert "The foghorn sounds at night." in read(path)


def test_what_cannot_be_read_is_named_and_the_rest_is_served(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("The lighthouse lamp is lit.", encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00broken")
    (tmp_path / "bad.pdf").write_bytes(b"no pdf")
    library = Library(tmp_path)
    done = library.index()
    assert done.read == 1
    assert len(done.errors) == 2
    assert any("bad.txt" in e and "UTF-8" in e for e in done.errors)
    assert any("bad.pdf" in e for e in done.errors)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not a folder"):
        files(tmp_path / "absent")


def test_a_long_document_is_cut_and_nothing_is_lost() -> None:
    text = "\n\n".join(f"Paragraph {n} says that room {n} is open and has {n} chairs." for n in range(200))
    parts = list(passages("long.md", text))
    assert "\n\n".join(p.text for p in parts) == text
    assert max(len(p.text) for p in parts) <= 1000
    assert [p.number for p in parts] == list(range(1, len(parts) + 1))
    endless = "x" * 5000
    assert "".join(p.text for p in passages("x.txt", endless)).replace("\n\n", "") == endless
