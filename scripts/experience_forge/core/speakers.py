"""Who spoke: a person's own words told apart from what machines wrote and what was pasted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model import Speaker
from .lazy import Pattern

PASTE_PLACE = "\n"
"""What stands for a paste that was taken out: a line break, so that no clause reaches over it."""

LONG_PROSE, SHORT_PROSE = 220, 100
"""Characters from which formal prose about code, with nobody speaking in it, counts as a pasted review; with two
names in backticks or more, and with fewer."""

_TURN_SKIPPED = Pattern(r"\s*(?:<(?:command|local-command|system|bash|task|ide_)|\[Request interrupted by user)", re.I)

_MACHINE_STARTS = (
    "<command",
    "<local-command",
    "<system",
    "<task-",
    "<bash-",
    "<ide_",
    "<user-prompt-submit-hook",
    "<teammate",
    "<hook",
    "<session-start",
    "<environment_context",
    "<user_instructions",
    "<post-tool-use",
    "<persisted-output",
    "<tool_use_error",
    "<experience-forge",
    "[Request interrupted",
    "[experience-forge",
    "[Image: ",
    "[SYSTEM",
    "[System ",
    "(no content)",
    "Caveat: The messages below",
    "This session is being continued from",
    "Implement the following plan:",
    "Implement the plan as specified",
    "Base directory for this skill:",
    "Unknown slash command",
    "Unknown skill",
    "Continue from where you left off.",
    "Continue the conversation from where",
    "Your task is to create a detailed summary",
    "Please continue the conversation from where we left",
    "Another Claude session sent a message",
    "API Error:",
    "API Error ",
    "Tool loaded.",
    "No response requested.",
    "# AGENTS.md instructions",
    "# CLAUDE.md instructions",
    "Operation stopped by",
    "Execution stopped by",
    "Hook feedback",
    "hook feedback",
    "Hook error",
    "hook error",
)
_MACHINE_HOOKS = Pattern(
    r"(?:Stop|PreToolUse|PostToolUse|UserPromptSubmit|SessionStart|SubagentStop)(?::\w+)? (?:hook|says)\b"
    r"|A background (?:task|agent|command)\b.{0,60}\b(?:completed|finished|failed)"
)

_TAG_BLOCK = Pattern(r"<([a-zA-Z][\w:-]{1,60})(?:\s[^<>]{0,300})?>.*?</\1>", re.S)
_FENCE = Pattern(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.S | re.M)

_PASTED_LINE = Pattern(
    r"""^[ \t]*(?:
      >                                                  # quoted mail or Markdown
      | [❯➜$%λ»]\s | (?:\w+@[\w.-]+[:~][^\n]{0,60}|PS\ [A-Z]:[^\n>]{0,80}>|\(\w[\w.-]*\)\ \w+@)[$\#>%\ ]
      | [+-](?:\s{2,}|\t|[^\s\-+].*[;{}()=:]\s*$)         # a diff
      | (?:diff\ --git|index\ [0-9a-f]{6,}|@@\ -|---\ a/|\+\+\+\ b/)
      | (?:\[?\d{4}-\d\d-\d\d[T\ ]?|\[?\d\d:\d\d:\d\d)       # a log line
      | (?:at\ [\w$.<>/]+\s?\(|File\ "[^"]+",\ line\ \d|\.{3}\ \d+\ more|Caused\ by:|Traceback\b)
      | (?:(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning)|(?:\w+\ )?Error:
           |(?:npm|yarn|pnpm|pip|cargo|make|go|gcc|ld|fatal|panic|error|warning
           |ERROR|WARN(?:ING)?|INFO|DEBUG|FAIL(?:ED)?|PASS(?:ED)?|\[\w+\])(?:\[\w+\])?\s?[:!]
      | \[\w+\ (?:Error|Warning)\]
      | (?:FAILED|ERROR|PASSED)\s\S+::\S+ | \w+:fail\b | Runtime\ Error\s)
      | (?:={3,}|-{4,}|\#{4,}|\*{4,}|_{4,}|[│┃├└┌┐┘┤─━═║╔╚▶●○⏺⎿✓✔✗✘✖×⚠]\s|\|[^\n]*\|\s*$)
      | [\w./\\-]+\.\w{1,5}:\d+(?::\d+)?(?:[:\s]|$)           # file:line:
      | (?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\ (?:https?:/)?/\S+ | Failed\ to\ load\ resource: | Uncaught\s
      | (?:---|===|\.\.\.)\s?(?:RUN|PASS|FAIL|SKIP)
      | !\ \w+\ (?:Error|Warning)\b | ---\w+\ \d+\ of\ 
      | [{}\[\]();,]+\s*$ | "[\w.$-]+"\s?:
      | (?:import|from|const|let|var|func|def|class|return|public|private|static|\#include|package|export|async)\s
          [^\n]*[;{(:=][^\n]{0,40}$
      | (?:curl|sudo|docker|kubectl|git|npm|pnpm|npx|pip3?|uv|conda|apt(?:-get)?|brew|python3?|cd|ls|mkdir|chmod)\s
          [\w./@<>=:"'$~\\*-]+(?:\s-{1,2}\w[^\n]*)?\s*$
    )""",
    re.X | re.M,
)

_INTRODUCED = Pattern(
    r"""(?:feedback|comments?|review(?:er)?|suggest(?:ion|s|ed)|said|says|wrote|reports?|reported|reply|replied
       |bot|copilot|codex|cursor|coderabbit|bugbot|gemini|chatgpt|output|logs?|errors?|message|trace(?:back)?
       |following|this|these|here|got|see|below|example|prompt|diff
       |评论|反馈|意见|建议|回复|他说|她说|报错|日志|输出|如下|结果|内容|错误|信息|提示)
       [^\n:：]{0,40}\Z""",
    re.X | re.I,
)
_BY_OTHERS = Pattern(
    r"\b(?:reviewer|supervisor|advis[eo]r|professor|colleague|co-?worker|teammate|client|customer|qa|boss|manager|designer"
    r"|team ?lead)(?:'?s)?\b[^\n:]{0,40}\Z"
    r"|(?:领导|老板|客户|甲方|同事|同学|导师|老师|评审|审稿人|测试|产品|运营|设计师)[^\n:：，。]{0,16}\Z",
    re.I,
)
"""Who wrote what follows a colon, when it was not the person: a list of theirs is no list of the person's wishes."""
_LINE_OPENS = Pattern(r"[:：][ \t]*\n")
INTRODUCED_LONG = 80

_FINDINGS = Pattern(
    r"""^[^\n]{0,80}\b(?:issues|errors|problems|findings|inconsistencies|concerns|nits|gaps|observations|bugs|warnings
        |vulnerabilities|suggestions|comments|feedback)\b[^\n.?!]{0,60}[:：]?[ \t]*\n(?=\s*\S)
      |^[^\n]{0,30}(?:问题|错误|缺陷|建议|意见)(?:清单|列表|汇总|如下)?[:：]?[ \t]*\n(?=\s*\S)""",
    re.X | re.I | re.M,
)
"""The head of a list of findings: what stands under it was written by a reviewer, a person or a tool."""
FINDINGS_LONG = 250
_FINDING_WORDS = (
    "issues", "errors", "problems", "findings", "inconsistencies", "concerns", "nits", "gaps", "observations", "bugs",
    "warnings", "vulnerabilities", "suggestions", "comments", "feedback", "问题", "错误", "缺陷", "建议", "意见",
)  # fmt: skip

_SEVERITY = Pattern(
    r"^\W{0,4}P[0-4]\]|^\W{0,4}(?:Low|Medium|High|Critical|Minor|Major)\s(?:Severity|Priority|risk)\b", re.I | re.M
)
_REVIEW_LEAD = Pattern(
    r"\s*(?:nit(?:pick)?|suggestion|issue|todo|question|thought|chore|note|typo|polish|praise)"
    r" ?\((?:non-blocking|blocking|if-minor|\w+)\):|\s*nit(?:pick)?:|\s*[\w.-]+(?:-bot|\[bot\]):",
    re.I,
)
"""How comments of a review begin that follow conventionalcomments.org, or that a bot wrote."""
_CODE_QUOTED = Pattern(r"`[^`\n]+`")
_REVIEW_WORDS = Pattern(
    r"\b(?:consider|potential(?:ly)?|inconsisten\w+|could (?:lead|cause|result|be)|may (?:lead|cause|result|be)"
    r"|this (?:means|causes|creates|results|could|may|can|will|breaks|is because)|which (?:means|could|may|causes|can)"
    r""
    r"|would (?:leave|break|fail|be|return|not)|misleading|redundant|duplicated?"
    r"|silently|incorrectly|should (?:be|use|also|handle)|when\b|if\b|however)\b",
    re.I,
)
_SPOKEN = Pattern(
    r"\b(?:I|I'[a-z]+|i'm|my|me|we|we'[a-z]+|us|our|let'?s|please|pls|can you"
    r"|could you|you|your|thanks|hmm|ok|okay|yes|yeah)\b"
    r"|[\u4e00-\u9fff]"
)
_CODE_NAME = Pattern(r"\b(?:[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|\w+_\w+|\w+\(\)|[\w/]+\.\w{1,4}\b)|`[^`]+`")

_QUOTES = Pattern(
    '`[^`\n]{1,400}`|"[^"\n]{1,400}"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|《[^》\n]{1,200}》'
    "|‘[^’\n]{1,400}’|(?<![A-Za-z0-9])'[^'\n]{1,200}'(?![A-Za-z0-9])"
)
_QUOTE_MARKS = "`\"“「『《‘"
"""One of these opens a quotation; so does a straight apostrophe that is not the only one."""
QUOTE_PLACE = " ‹› "
"""What stands for a quotation inside a person's sentence; no cue matches it."""

_ATTACHED = Pattern(r"(?:(?<=\s)|^)@[\w./\\~<>\-\u4e00-\u9fff]+(?::\d+(?:-\d+)?)?|https?://\S+|\[Image #?\d*\]")


@dataclass(frozen=True)
class Spoken:
    """What of a prompt is a person's own.

    `why` names what was found (`person`, `machine`, `paste`, `review`, `headless`, `duplicate`);
    `words` is the person's part with quotations blanked, `pasted` the rest.
    """

    speaker: Speaker
    why: str
    words: str
    pasted: str = ""


def counts_as_turn(text: str) -> bool:
    """Whether a prompt record is numbered as a user turn (command echoes and markers are not)."""
    return not _TURN_SKIPPED.match(text)


def is_machine(text: str) -> bool:
    """Whether a client, a hook, a tool, or this program wrote the prompt."""
    start = text[:200].lstrip()
    if start.startswith(_MACHINE_STARTS):
        return True
    return start[:1] in "ASPU" and bool(_MACHINE_HOOKS.match(start))


def hear(text: str, *, headless: bool = False) -> Spoken:
    """Tell the person's words in one prompt from the rest.

    Args:
        text: the whole prompt.
        headless: the session ran without a person (a script sent its prompts).
    """
    if headless:
        return Spoken(Speaker.MACHINE, "headless", "", text)
    if is_machine(text):
        return Spoken(Speaker.MACHINE, "machine", "", text)
    words, pasted = _without_pastes(text)
    if not words.strip():
        return Spoken(Speaker.MACHINE, "paste", "", pasted)
    if is_review(words):
        return Spoken(Speaker.MACHINE, "review", "", text)
    if words.count("'") > 1 or any(mark in words for mark in _QUOTE_MARKS):
        words = _QUOTES.sub(QUOTE_PLACE, words)
    if "@" in words or "http" in words or "[Image" in words:
        words = _ATTACHED.sub(" ", words)
    return Spoken(Speaker.PERSON, "person", words.strip(), pasted)


def is_review(text: str) -> bool:
    """Whether the text reads like a review comment of a third party: formal, about code, nobody speaks."""
    if ("everity" in text or "riority" in text or "risk" in text or text[:2] == "[P") and _SEVERITY.search(text):
        return True
    if _REVIEW_LEAD.match(text):
        return True
    quoted = len(_CODE_QUOTED.findall(text))
    if len(text) < (SHORT_PROSE if quoted >= 2 else LONG_PROSE) or _SPOKEN.search(text):
        return False
    return len(_CODE_NAME.findall(text)) >= 2 and bool(_REVIEW_WORDS.search(text)) and text.strip()[:1].isupper()


def _without_pastes(text: str) -> tuple[str, str]:
    taken: list[str] = []

    def take(match: re.Match[str]) -> str:
        taken.append(match.group(0))
        return PASTE_PLACE

    text = _without_others(text, taken)
    rest = _TAG_BLOCK.sub(take, _FENCE.sub(take, text)) if "<" in text or "``" in text or "~~" in text else text
    introduced = _introduced(rest) if len(rest) > INTRODUCED_LONG and "\n" in rest else -1
    if 0 < introduced < len(rest) - INTRODUCED_LONG and not _is_list(rest[introduced:]):
        taken.append(rest[introduced:])
        rest = rest[:introduced]
    listed = _FINDINGS.search(rest) if len(rest) > FINDINGS_LONG and "\n" in rest and _may_list(rest) else None
    if listed and len(rest) - listed.end() > FINDINGS_LONG:
        taken.append(rest[listed.start() :])
        rest = rest[: listed.start()]
    kept = _own_lines(rest, taken)
    return kept, "\n".join(taken)


def _without_others(text: str, taken: list[str]) -> str:
    """The text without what a line announces as somebody else's words, to the end."""
    opens = _LINE_OPENS.search(text)
    if opens is None or not _BY_OTHERS.search(text[max(0, opens.start() - 60) : opens.start()].rpartition("\n")[2]):
        return text
    taken.append(text[opens.end() :])
    return text[: opens.end()]


def _introduced(text: str) -> int:
    """Where a line ends that introduces what follows (`the log says:`); -1 without one.

    Only what stands before a colon at a line's end is searched: over the whole text it costs twenty times as much.
    """
    for colon in _LINE_OPENS.finditer(text):
        place = colon.start()
        begin = max(text.rfind(mark, 0, place) for mark in "\n:：") + 1
        if _INTRODUCED.search(text[max(begin, place - 60) : place]):
            return colon.end()
    return -1


def _may_list(text: str) -> bool:
    low = text.lower()
    return any(word in low for word in _FINDING_WORDS)


def _is_list(text: str) -> bool:
    """Numbered or dashed wishes under a colon are the person's own."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(bool(re.match(r"(?:\d+[.)、]|[-*•])\s?\S", line)) for line in lines) * 2 >= len(lines)


def _own_lines(text: str, taken: list[str]) -> str:
    lines = text.split("\n")
    if len(lines) == 1:
        if not _SPOKEN.search(text) and _PASTED_LINE.match(text):
            taken.append(text)
            return ""
        return text
    marks = [bool(line.strip()) and bool(_PASTED_LINE.match(line)) for line in lines]
    for index in range(1, len(lines)):
        # What is set in below a line of output goes on with it.
        marks[index] = marks[index] or (
            marks[index - 1] and lines[index].startswith(("  ", "\t")) and not _SPOKEN.search(lines[index])
        )
    # Output has lines that look like prose; between two pasted lines they belong to the paste.
    pasted = [index for index, mark in enumerate(marks) if mark]
    if len(pasted) >= 3:
        for index in range(pasted[0], pasted[-1]):
            if lines[index].strip():
                marks[index] = marks[index] or not _SPOKEN.search(lines[index])
    kept = []
    for line, mark in zip(lines, marks, strict=True):
        if mark:
            taken.append(line)
        kept.append("" if mark else line)
    return "\n".join(kept)
