"""Written entries for the tests and evaluations of projections; no data of anyone."""

from __future__ import annotations

from experience_forge.core import managed_block, projection, tracks
from experience_forge.model import SECTIONS, Condition, Entry, Kind, Track
from experience_forge.store import ruleset, templates

COMMAND = "/home/someone-with-a-name/.local/share/experience-forge/bin/experience-forge"
TITLES = {
    "en": (
        "The proxy drops long uploads without a word",
        "Locale changes the order of sorted exports",
        "A green pipeline hides a skipped stage",
        "Retries doubled the invoice run",
    ),
    "zh": (
        "代理会悄悄丢掉大文件上传",
        "区域设置改变了导出排序",
        "流水线变绿却跳过了关键阶段",
        "重试导致账单任务跑了两遍",
    ),
}
RULES = {
    "en": (
        "Check the size that arrived before calling an upload done.",
        "Set the locale in the job, never trust the shell's.",
        "Read the list of stages that ran, not only the colour.",
        "Give every run a key and refuse a second one with it.",
    ),
    "zh": (
        "上传完成前先核对到达的字节数，不要只看返回码。",
        "任务里显式设置区域，不要依赖登录环境。",
        "看实际执行了哪些阶段，不要只看颜色。",
        "每次运行都带唯一键，重复的键一律拒绝。",
    ),
}
TEXT = {
    "en": "It took three rounds to find, since the log names another file.",
    "zh": "日志指向了别的文件，返工三轮才找到原因。",
}


def entry(number=0, language="en", track=Track.PERSONAL, kind=None, **changes):
    """One written entry; `changes` are fields of `Entry`."""
    kind = kind or (Kind.PREFERENCE if track is Track.PROFILE else Kind.PITFALL)
    rule = RULES[language][number % 4]
    values = {
        "id": f"note-{language}-{number:05d}", "title": f"{TITLES[language][number % 4]} #{number}", "kind": kind,
        "track": track, "language": language, "updated": f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}",
        "created": "2026-01-01", "tags": ("upload", "locale")[number % 2:],
        "sections": tuple((name, rule if name == "rule" else TEXT[language]) for name in SECTIONS[kind]),
        "applies_when": (Condition(f"deploy-{number % 7} *", "413 Payload Too Large"),) * min(number % 3, 1),
        "domain": "python" if track is Track.DOMAIN else "",
        "project": "0123456789ab" if track is Track.PROJECT else "",
    }  # fmt: skip
    return Entry(**{**values, **changes})


def many(count, language="en", tracks_=tuple(Track)):
    """Entries in turn of each track."""
    return [entry(number, language, tracks_[number % len(tracks_)]) for number in range(count)]


def settings(language="en", **changes):
    """Settings of a projection with the shipped domains."""
    domains = tracks.rules_of(ruleset.load("tracks")).domains
    values = {"language": language, "command": COMMAND, "hooks": True, "domains": domains, **changes}
    return projection.Settings(**values)


def whole(text):
    """A text as its file holds it, with our mark."""
    return managed_block.stamp(text, templates.shipped().version).decode("utf-8")


def plans(counts):
    """Language -> whole files and project blocks of so many entries each."""
    found = {}
    for language in ("en", "zh"):
        for count in counts:
            given = many(count, language)
            made = projection.project(given, settings(language), templates.shipped())
            found.setdefault(language, []).extend(whole(text) for text in made.files.values())
            blocks = projection.blocks(given, settings(language), templates.shipped())
            data = managed_block.update(None, blocks, (), templates.shipped().version).data
            found[language].append(data.decode("utf-8"))
    return found
