"""A person's words cut into start, sentences and clauses, and which of them ask, in both languages."""

from __future__ import annotations

import re

from .lazy import Pattern

LONG_WORDS = 700
"""Above this many characters a prompt is a specification: only its beginning and end are read for cues."""
LONG_HEAD, LONG_TAIL = 400, 250
START_REACH = 320

_SENTENCE = Pattern(
    r"[^.!?。！？;；\n…]*(?:(?<!\.)\.(?![\s.\u4e00-\u9fff]|$)[^.!?。！？;；\n…]*)*(?:[.!?。！？;；…]+|\n+|$)"
)
_CLAUSE_END = Pattern(
    r"[,，、:：—(（)）]+|\s-+\s|\.{2,}|…+| (?=(?:but|because|since|so that|although|though|however|while|whereas) )"
)
_CLAUSE_SIGNS = (
    ",", ":", "-", "(", ")", "..", " but ", " because ", " since ", " so that ", " although ", " though ", " however ",
    " while ", " whereas ",
)  # fmt: skip
"""Where none of these is, ASCII text has no end of a clause within."""
_ASKS = Pattern(
    r"^\W*(?:(?:ok|okay|so|and|but|hmm+|well|also|then|now|wait|just|sorry|hey|oh|question|actually|or)[,:]? )*"
    r"(?:why|what|how|where|when|which|who|whose|is|are|am|was|were|do(?! not)|does|did|can|could|should"
    r"|would|will|shall|has|have|any)\b"
    r"(?! (?:nothing|not|still|no|now|again|also|broken|wrong|empty|missing|incorrect|worse|too)\b)"
    r"|^\W*(?:(?:ok|okay|so|and|but|hmm+|well|also|then|now|wait|just|sorry|hey|oh|actually|or)[,:]? )*"
    r"(?:is|are|was|were|do|does|did|has|have|should|would|could|can|ca|wo)n'?t"
    r" (?:it|this|that|these|those|there|we|you|they|i|he|she|the|my|our|your|its)\b"
)
_TAG = Pattern(
    r"[,，] ?(?:ok(?:ay)?|please|got it|understood|deal|alright|thanks"
    r"|好吗|好不好|行吗|可以吗|知道了?吗|明白了?吗|懂吗|听到没)\s?[?？]+$"
)
"""What softens an order and asks nothing."""
_BULLET = Pattern(r"^(?:[-*•]|\d+[.)、])\s+")
_ASKED = Pattern(r"(?<![?？])[?？](?![?？])|怎么(?:切换|用|改|做|弄|办|配|处理|写|看)|如何")
"""A question asks once; `??` exclaims."""
_ZH_ASKS = Pattern(
    r"(?:吗|么|呢)[?？。.!！…\s]*$|[?？]\s*$|^(?:那|所以)?(?:为什么|为啥)"
    r"|^[^，,]{0,12}(?:能|可以|会|有|要)[^，,]{0,20}[吗嘛么][，,]"
    r"|^[^，,]*(?:能不能|会不会|是不是|有没有|要不要|可不可以|支不支持|对不对|行不行|怎么(?:切换|用|改|做|弄|办|配|处理|写|看)|如何)"
)


class Stretch:
    """A stretch of the prompt, the sentence it stands in, and the words in which praise would take it back.

    Whether it asks is looked for only when that is wanted.
    """

    __slots__ = ("_question", "calm_in", "sentence", "text")

    def __init__(
        self, text: str, question: bool | None, calm_in: str | None = None, sentence: str | None = None
    ) -> None:
        self.text, self._question = text, question
        self.calm_in = text if calm_in is None else calm_in
        self.sentence = text if sentence is None else sentence

    @property
    def question(self) -> bool:
        """Whether it asks."""
        if self._question is None:
            self._question = is_question(self.text)
        return self._question


class Parts:
    """A prompt as the cues read it: its start, its sentences, its clauses; each made when first read."""

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self._made: dict[str, list[Stretch]] = {}

    def __getitem__(self, reads: str) -> list[Stretch]:
        if reads not in self._made:
            self._made[reads] = {"start": self._start, "sentence": self._sentences, "clause": self._clauses}[reads]()
        return self._made[reads]

    @property
    def asks_first(self) -> bool:
        """Whether the prompt begins with a question: what follows then mostly gives its background."""
        sentences = self["sentence"]
        return bool(sentences) and sentences[0].question

    @property
    def asks(self) -> bool:
        """Whether anything in the prompt is asked."""
        return bool(_ASKED.search(self.plain))

    def _start(self) -> list[Stretch]:
        start = self.plain
        if start[0] == "@":
            start = re.sub(r"^(?:@\S+\s+)+", "", start)
        start = start[:START_REACH]
        first = next(iter(_SENTENCE.findall(start)), start)
        return [Stretch(start, is_question(first.strip()), first[:60])]

    def _sentences(self) -> list[Stretch]:
        texts = (sentence.strip() for text in looked_at(self.plain) for sentence in _SENTENCE.findall(text))
        return [Stretch(text, None) for text in texts if text]

    def _clauses(self) -> list[Stretch]:
        found = []
        for sentence in self["sentence"]:
            text = sentence.text
            if text[-1] in "?？":
                text = _TAG.sub("", text)
            whole = text.isascii() and not any(map(text.__contains__, _CLAUSE_SIGNS))
            cut = [text] if whole else _CLAUSE_END.split(text)
            parts = [part.strip() for part in cut if part and part.strip()]
            found += [Stretch(part, None, sentence=text) for part in parts]
            if parts and text.rstrip().endswith(("?", "？")):
                found[-1] = Stretch(parts[-1], True, sentence=text)
        return found


def plain(words: str) -> str:
    """A person's words as cues are written for: lower case, straight apostrophes, single blanks, no bullet."""
    text = words.lower().strip()
    if not text.isascii():
        text = text.replace("’", "'").replace("´", "'").replace("\u3000", " ")
    if text[:1] in "-*•0123456789":
        text = _BULLET.sub("", text)
    while "  " in text or "\t" in text:
        text = text.replace("\t", " ").replace("  ", " ")
    return text.replace("`", "'")


def looked_at(plain: str) -> tuple[str, ...]:
    """What of a prompt is read for cues: a long one is a specification, of which beginning and end count."""
    if len(plain) <= LONG_WORDS:
        return (plain,)
    return plain[:LONG_HEAD], plain[-LONG_TAIL:]


def is_question(text: str) -> bool:
    """Whether a sentence or clause asks, in either language, with its mark or without."""
    if text.endswith(("?", "？")):
        text = _TAG.sub("", text)
    if text.endswith(("??", "？？")):
        return bool(_ASKS.match(text))  # a statement with two marks exclaims
    return text.endswith(("?", "？")) or bool(_ASKS.match(text) or (not text.isascii() and _ZH_ASKS.search(text)))
