"""What a person sees in the client's dialog: at most 8 rows of reason, and the whole proposal in the command.

Everything comes from the proposal's own bytes. The texts stand here and not in `rules/`, because a
hook reads no YAML and a consent must not depend on a compiled copy.
"""

import os
import re

from .visible import escape, rows

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is too slow an import for a hook
    from collections.abc import Mapping

COLUMNS = 72
TEXTS = {
    "en": {
        "draft": "Save this entry?", "move": "Move this entry?", "merge": "Merge these entries?",
        "guard": "Change what this entry may stop?", "status": "Change the status of this entry?",
        "undo": "Undo this change?", "tuning": "Use this tuning?", "restore": "Restore this backup?",
        "import": "Import this?", "grow": "Install what grew from your notes?", "other": "Make this change?",
        "title": "{question} \"{title}\"", "warnings": "Warnings: {text}", "none": "none", "and": "; ",
        "place": "Goes to: {track} \u2192 {file}", "above": "see the text above", "rule": "Rule: {text}",
        "how": "Digest {digest}; full text above (PageUp); No + remark = modify",
        "project": "this project's CLAUDE.md ({name})", "describe": "experience-forge: save after your Yes",
    },
    "zh": {
        "draft": "保存这条经验？", "move": "移动这条经验？", "merge": "合并这些经验？",
        "guard": "改变这条经验能拦下什么？", "status": "改变这条经验的状态？",
        "undo": "撤销这次改动？", "tuning": "采用这项调整？", "restore": "恢复这份备份？",
        "grow": "安装由经验长出的内容？",
        "import": "导入这些内容？", "other": "执行这项改动？",
        "title": "{question}《{title}》", "warnings": "提醒：{text}", "none": "无", "and": "；",
        "place": "去处：{track} → {file}", "above": "见上面全文", "rule": "规则：{text}",
        "how": "摘要 {digest}；全文在上面（PageUp）；No 加一句话 = 修改",
        "project": "本项目的 CLAUDE.md（{name}）", "describe": "experience-forge：你选 Yes 之后才保存",
    },
}  # fmt: skip
REFUSALS = {
    "en": {
        "shape": "nothing was run; one entry per command, only this line: {line}",
        "subagent": "nothing was run; a subagent can't ask for consent: the main session has to",
        "nobody": "nothing was run, the proposal is kept: no person can answer here; "
                  "the user can run `{line} review` in a terminal",
        "unreadable": "nothing was run; there is no readable proposal '{id}'",
        "changed": "nothing was run; the proposal '{id}' changed since it was shown: "
                   "show it again and use the line printed there",
        "warnings": "the findings of the scan can't be read",
    },
    "zh": {
        "shape": "没有运行；一条命令只确认一个提案，而且只写这一行：{line}",
        "subagent": "没有运行；子代理不能请求确认，须由主会话来做",
        "nobody": "没有运行，提案仍然保留：这里没有人能回答；用户可以在终端运行 `{line} review`",
        "unreadable": "没有运行；没有可读的提案“{id}”",
        "changed": "没有运行；提案“{id}”在显示之后又变了：请重新显示，并使用那里打印的一行",
        "warnings": "读不出扫描的结果",
    },
}  # fmt: skip
_SETTING = re.compile(r"^language:[ \t]*['\"]?(en|zh)['\"]?[ \t]*(?:#.*)?$", re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_]+):(?:[ \t]+(.*))?")
_RULE = re.compile(r"\*\*(?:rule|通用规则|规则)[:：]?\*\*[:：]?[ \t\u3000]*(.*)", re.IGNORECASE)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f",
            "v": "\v", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}  # fmt: skip


def fields(text: str) -> dict[str, str]:
    """One-line scalars of the front matter by name, the first wins; of a draft also `rule`, out of its body."""
    text = text.replace("\r\n", "\n")
    if not text.startswith("---\n") or "\n---\n" not in text:
        return {}
    head, body = text[4:].split("\n---\n", 1)
    found: dict[str, str] = {}
    for line in head.split("\n"):
        match = _FIELD.fullmatch(line)
        if match and match.group(1) not in found:
            found[match.group(1)] = scalar(match.group(2) or "")
    if not found.get("change"):
        # A draft's own fields must not stand in for its rule and its place.
        found.pop("place", None)
        found["rule"] = _rule(body)
    return found


def scalar(written: str) -> str:
    """A one-line YAML scalar, plain or quoted, as text."""
    written = written.strip()
    if len(written) >= 2 and written[0] == written[-1] == "'":
        return written[1:-1].replace("''", "'")
    if len(written) >= 2 and written[0] == written[-1] == '"':
        return re.sub(r"\\(x..|u....|U........|.)", _unescaped, written[1:-1])
    return written


def language(found: dict[str, str], text: str) -> str:
    """`zh` or `en`: the proposal's own field, else by its letters."""
    if found.get("language") in TEXTS:
        return found["language"]
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


def user_language(home: str, environ: "Mapping[str, str]") -> str:
    """`zh` or `en`: the setting as `store.config` writes it, else the locale."""
    try:
        with open(os.path.join(home, "config.yaml"), encoding="utf-8") as file:
            chosen = _SETTING.search(file.read(65536))
    except (OSError, ValueError):
        chosen = None
    if chosen:
        return chosen.group(1)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return "zh" if environ[name].lower().startswith("zh") else "en"
    return "en"


def reason(text: str, digest: str, warnings: list[str]) -> str:
    """The rows of the dialog, most important first, joined by newlines; at most 8 rows of 72 columns."""
    found = fields(text)
    texts = TEXTS[language(found, text)]
    change = found.get("change") or "draft"
    title = texts["title"].format(question=texts.get(change, texts["other"]), title=found.get("title") or "?")
    warned = texts["warnings"].format(text=texts["and"].join(warnings) or texts["none"])
    lines = rows(title, COLUMNS, 2) + rows(warned, COLUMNS, 2) + rows(_place(found, texts), COLUMNS, 1)
    lines += rows(texts["rule"].format(text=found.get("rule") or texts["above"]), COLUMNS, 2)
    return "\n".join(lines + rows(texts["how"].format(digest=digest[:16]), COLUMNS, 1))


def command(line: str, receipt: str, text: str) -> str:
    """The rewritten command: the line, its receipt, and the whole proposal for the eyes only."""
    shown = escape(text, keep_newlines=True).rstrip("\n")
    mark = "DRAFT-" + os.urandom(4).hex()
    while mark in shown:
        mark = "DRAFT-" + os.urandom(4).hex()
    return "%s --receipt %s <<'%s'\n%s\n%s" % (line, receipt, mark, shown, mark)


def description(text: str) -> str:
    """What the dialog says about the command; ours, in place of the model's."""
    found = fields(text)
    return TEXTS[language(found, text)]["describe"]


def _place(found: dict[str, str], texts: dict[str, str]) -> str:
    track = found.get("track", "")
    if found.get("place"):
        return texts["place"].format(track=track or found.get("change", ""), file=found["place"])
    files = {
        "profile": "~/.claude/rules/experience-forge/profile.md",
        "personal": "~/.claude/rules/experience-forge/index.md",
        "domain": "~/.claude/skills/%s-experience/" % (found.get("domain") or "?"),
        "project": texts["project"].format(name=found.get("project") or "?"),
    }
    return texts["place"].format(track=track or found.get("change") or "?", file=files.get(track, texts["above"]))


def _rule(body: str) -> str:
    for line in body.split("\n"):
        match = _RULE.match(line)
        if match:
            return match.group(1).strip()
    return ""


def _unescaped(match: re.Match[str]) -> str:
    code = str(match.group(1))
    if len(code) > 1:
        try:
            return chr(int(code[1:], 16))
        except ValueError:
            return str(match.group(0))
    return _ESCAPES.get(code, code)
