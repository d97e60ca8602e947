"""The labels of an entry's body as hooks and commands read them: `**Label** text`, in both languages."""

LABELS = {
    "en": {
        "scenario": "Scenario", "symptom": "Symptom", "root_cause": "Root cause",
        "right_action": "Right action", "rule": "Rule", "why": "Why", "how": "How",
        "situation": "Situation", "decision": "Decision", "alternatives_rejected": "Alternatives rejected",
        "when": "When", "steps": "Steps",
    },
    "zh": {
        "scenario": "场景", "symptom": "症状", "root_cause": "根因",
        "right_action": "正确做法", "rule": "通用规则", "why": "原因", "how": "做法",
        "situation": "情境", "decision": "决定", "alternatives_rejected": "放弃的方案",
        "when": "何时", "steps": "步骤",
    },
}  # fmt: skip
"""The label that is written, by language and section name."""

ALSO_READ = {
    "fix": "right_action", "correct action": "right_action", "cause": "root_cause", "context": "situation",
    "how to apply": "how", "alternatives": "alternatives_rejected",
    "rejected alternatives": "alternatives_rejected",
    "规则": "rule", "根本原因": "root_cause", "正确行动": "right_action", "为什么": "why", "理由": "why",
    "怎么做": "how", "决策": "decision", "放弃的备选": "alternatives_rejected", "背景": "situation",
    "备选方案": "alternatives_rejected", "现象": "symptom", "什么时候": "when",
}  # fmt: skip
NAMES = dict(ALSO_READ)
for _labels in LABELS.values():
    NAMES.update((_label.casefold(), _name) for _name, _label in _labels.items())
NAMES.update((_name.casefold(), _name) for _name in LABELS["en"])

LONGEST = 60
_COLONS = (":", "：")


def label_of(line: str) -> "tuple[str, str] | None":
    """The label that a line begins with, and the text behind it; None when it begins with none."""
    if not line.startswith("**"):
        return None
    end = line.find("**", 3)
    label = line[2:end] if end > 0 else ""
    if not label or "*" in label:
        return None
    if len(label) > 1 and label.endswith(_COLONS):
        label = label[:-1]
    if len(label) > LONGEST:
        return None
    after = line[end + 2:]
    rest = (after[1:] if after.startswith(_COLONS) else after).lstrip(" \t\u3000")
    # `**word**goes on` is emphasis, unless the word is a label: Chinese writes no blank after it.
    return (label.strip(), rest) if label.strip().casefold() in NAMES or rest != after or not rest else None


def needs_escape(line: str) -> bool:
    """Whether a line within a section would read as a label or a delimiter, however many backslashes it has."""
    bare = line.lstrip("\\")
    return (bare[:3] in ("---", "...") and not bare[3:].strip()) or label_of(bare) is not None


def unescaped(line: str) -> str:
    """A line of a section as it was meant."""
    return line[1:] if line.startswith("\\") and needs_escape(line) else line


def normal(text: str) -> str:
    """A section's text as it survives a round trip: line ends `\\n`, no blanks around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
