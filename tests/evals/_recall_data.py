# ruff: noqa: E501, SIM905 - lists of real-looking commands and messages
"""Entries of the evaluation sets as confirmed entries, and seeded entries that stand in their way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experience_forge.model import Condition, Entry, Kind, Track


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def entry_of(record: dict[str, Any], aliases: list[str]) -> Entry:
    """A record of the set as the entry that the draft step makes of it: its error line is the trigger."""
    names = ("scenario", "symptom", "root_cause", "right_action", "rule")
    symptom = str(record.get("symptom", ""))
    return Entry(
        id=str(record["id"]),
        title=str(record["title"]),
        kind=Kind.PITFALL,
        track=Track.PERSONAL,
        sections=tuple((name, str(record.get(name, ""))) for name in names),
        aliases=tuple(aliases),
        domain=str(record.get("domain", "")),
        language=str(record.get("lang", record.get("language", "en"))),
        applies_when=(Condition(error=symptom),) if symptom else (),
        tags=tuple(str(tag) for tag in record.get("tags", ())),
        created="2026-01-01",
        updated="2026-01-01",
    )


def load(folder: Path, with_aliases: bool) -> list[Entry]:
    """The entries of a set; the aliases of `aliases.jsonl` beside it, or those in the records."""
    path = folder / "aliases.jsonl"
    aliases = {str(one["id"]): [str(text) for text in one["aliases"]] for one in lines(path)} if path.exists() else {}
    return [
        entry_of(record, (aliases.get(str(record["id"])) or record.get("aliases") or []) if with_aliases else [])
        for record in lines(folder / "entries.jsonl")
    ]


def without_aliases(entries: list[Entry]) -> list[Entry]:
    """The same entries without their aliases."""
    return [replace(entry, aliases=()) for entry in entries]


@dataclass(frozen=True)
class Stack:
    """A tool with its words, of which the generator makes entries that a real user could have."""

    tool: str
    domain: str
    things: tuple[str, ...]
    errors: tuple[str, ...]
    commands: tuple[str, ...]


STACKS = (
    Stack("python", "python", ("parser", "worker", "scheduler", "importer", "mailer"), (
        "ModuleNotFoundError: No module named '{mod}_{part}'", "AttributeError: '{Cls}' object has no attribute '{attr}'",
        "ImportError: cannot import name '{attr}' from '{mod}.{part}'", "{Cls}Error: {attr} must be set before {verb}",
        "TypeError: {Cls}.{attr}() got an unexpected keyword argument '{part}'", "KeyError: '{mod}.{attr}'",
        "RuntimeError: {mod} {part} was closed while {verb}ing"), ("pytest {mod}", "pip install {mod}-{part}", "python -m {mod}.{part}")),
    Stack("node", "javascript", ("bundle", "route", "store", "loader", "middleware"), (
        "Error: Cannot find module '@{mod}/{part}'", "TypeError: {mod}.{attr} is not a function",
        "Error: [{mod}-{part}] {attr} is not supported in production mode", "ERR_{MOD}_{PART}: cannot {verb} {attr}",
        "error TS{num}: Property '{attr}' does not exist on type '{Cls}'.", "Error: {Cls} has already been {verb}ed with {attr}"),
        ("npm run {verb}:{mod}", "npx {mod} {verb}", "yarn {verb} {part}")),
    Stack("rust", "rust", ("crate", "trait", "feature", "macro", "binary"), (
        "error[E0{num3}]: cannot find `{attr}` in module `{mod}_{part}`", "error: failed to select a version for `{mod}-{part}`",
        "thread 'main' panicked at '{attr} {verb}ed twice'", "error: feature `{mod}-{attr}` is required to {verb} `{Cls}`"),
        ("cargo {verb} --package {mod}", "cargo test {part}")),
    Stack("docker", "devops", ("image", "volume", "network", "layer", "compose file"), (
        "Error response from daemon: {mod}-{part}: {attr} not allowed", "failed to {verb} layer {mod}: {attr} mismatch",
        "{mod}-{part} exited: cannot {verb} {attr}", "network {mod}_{part} has active endpoints while {verb}ing"),
        ("docker compose {verb} {mod}", "docker {verb} {mod}-{part}")),
    Stack("postgres", "database", ("migration", "replica", "index", "sequence", "schema"), (
        "ERROR: column \"{attr}\" of relation \"{mod}_{part}\" does not exist", "ERROR: cannot {verb} {mod}_{part} because {attr} depends on it",
        "FATAL: {mod} slot \"{part}\" is not ready to {verb}", "ERROR: {attr} violates check constraint \"{mod}_{part}_check\""),
        ("psql -f {mod}.sql", "pg_{verb} {mod}_{part}")),
    Stack("kubernetes", "devops", ("deployment", "ingress", "secret", "job", "node pool"), (
        "The {Cls} \"{mod}-{part}\" is invalid: spec.{attr}: Required value", "Error: {mod}-{part} cannot {verb}: {attr} quota exceeded",
        "admission webhook \"{mod}.{part}.io\" denied the request: {attr} missing", "Readiness probe failed: {mod} {attr} {verb}ing"),
        ("kubectl {verb} -f {mod}.yaml", "helm {verb} {mod} ./{part}")),
    Stack("java", "java", ("bean", "servlet", "entity", "repository", "listener"), (
        "com.{mod}.{part}.{Cls}Exception: {attr} not initialised", "No qualifying bean of type '{mod}.{Cls}' available",
        "java.lang.IllegalStateException: {Cls} cannot {verb} {attr}", "Could not resolve placeholder '{mod}.{part}.{attr}'"),
        ("mvn {verb} -pl {mod}", "./gradlew {mod}:{verb}")),
    Stack("git", "tooling", ("submodule", "hook", "worktree", "remote", "lfs pointer"), (
        "fatal: {mod}/{part}: cannot {verb} {attr}", "error: {attr} hook of {mod} declined to {verb} {part}",
        "remote: {Cls}: {attr} is protected in {mod}-{part}"), ("git {verb} {mod}", "git submodule {verb} {part}")),
    Stack("terraform", "devops", ("module", "provider", "workspace", "state", "backend"), (
        "Error: {Cls} \"{mod}_{part}\" has no {attr}", "Error: cannot {verb} {mod}.{part}: {attr} is immutable",
        "Error: Provider {mod} failed to {verb} {attr}"), ("terraform {verb} -target={mod}.{part}",)),
    Stack("spark", "data", ("shuffle", "partition", "checkpoint", "executor", "catalog"), (
        "org.apache.spark.{Cls}Exception: {attr} of {mod}.{part} lost", "{Cls}: cannot {verb} {mod} column {attr}",
        "Job aborted: {mod} stage {verb}ed {attr} too often"), ("spark-submit {mod}_{part}.py",)),
)
NAMES = (
    "orders billing ledger payout invoice catalog search profile session gateway notifier inventory pricing coupon "
    "shipment tracker audit report export geo media avatar upload chat feed survey quiz campaign tenant quota limiter "
    "archive replay mirror bridge relay beacon harbor falcon lantern maple cobalt nimbus quartz ember delta sierra"
).split()
PARTS = (
    "core api web sync cache queue batch admin cli sdk proto model view client server agent bridge index store driver "
    "codec plugin theme locale schema policy router broker stream lease token shard vault probe"
).split()
ATTRS = (
    "retry_limit base_url flush_all page_size tenant_id max_rows read_only lock_owner chunk_bytes ttl_seconds on_close "
    "sort_key node_name cert_path user_agent trace_id batch_id region_code soft_delete row_version merge_base "
    "is_frozen pool_size audit_log time_zone dry_run backoff_ms schema_name feature_flag"
).split()
VERBS = "apply build deploy fetch install load merge migrate publish push render reset resolve restore start sync verify watch".split()
CLASSES = (
    "LeaseHolder RetryPolicy PageCursor TenantScope AuditTrail QuotaGuard StreamReader BatchWriter NodePool TokenCache "
    "RowMapper SchemaDiff ChunkStore FlagClient JobRunner ShardMap GeoIndex MediaProbe FeedItem CouponRule"
).split()
ZH_SCENES = ("升级{tool}之后", "在流水线里{tool}", "本地开发{mod}时", "新同事的机器上", "容器里跑{mod}{part}", "凌晨的定时任务里", "切换分支以后")
ZH_CAUSES = ("{mod}的{attr}默认值变了", "{part}读的是旧配置", "锁文件没有更新", "环境变量{attr}没有传进去", "两个{part}同时写同一份数据", "缓存里还留着上一版的结果")
ZH_ACTIONS = ("先清掉{part}缓存再{verb}", "在配置里显式写上{attr}", "把{mod}固定到上一个小版本", "重新生成锁文件并提交", "给{part}加锁，失败时重试三次", "把{verb}放到{part}之后执行")
EN_SCENES = ("After upgrading {tool}", "When {mod} runs in CI", "On a fresh laptop", "In the {part} container", "During the nightly {verb}", "After switching branches")
EN_CAUSES = ("the default of {attr} changed in {mod}", "the {part} still reads the old configuration", "the lock file was not refreshed", "{attr} is not passed on to the {part}", "two {part} processes write the same rows", "a cache keeps the result of the version before")
EN_ACTIONS = ("clear the {part} cache, then {verb} again", "set {attr} explicitly", "pin {mod} to the minor version before", "regenerate and commit the lock file", "take a lock around the {part} and retry three times", "run {verb} after the {part} is up")


def generated(count: int, seed: int = 7) -> Iterator[Entry]:
    """`count` made-up entries, half of them Chinese, many of them siblings with one error class."""
    rnd = random.Random(seed)
    for number in range(count):
        stack = rnd.choice(STACKS)
        name = rnd.choice(NAMES)
        values = {
            "tool": stack.tool, "mod": name + (rnd.choice(NAMES) if rnd.random() < 0.4 else ""), "part": rnd.choice(PARTS),
            "attr": rnd.choice(ATTRS), "verb": rnd.choice(VERBS), "Cls": rnd.choice(CLASSES),
            "num": str(rnd.randint(1000, 9999)), "num3": str(rnd.randint(100, 999)), "thing": rnd.choice(stack.things),
        }
        values["MOD"], values["PART"] = str(values["mod"]).upper(), str(values["part"]).upper()
        yield _made(rnd, number, stack, values)


def _made(rnd: random.Random, number: int, stack: Stack, values: dict[str, str]) -> Entry:
    zh = rnd.random() < 0.5
    error = rnd.choice(stack.errors).format(**values)
    command = rnd.choice(stack.commands).format(**values)
    scenes, causes, actions = (ZH_SCENES, ZH_CAUSES, ZH_ACTIONS) if zh else (EN_SCENES, EN_CAUSES, EN_ACTIONS)
    scene, cause, action = (rnd.choice(texts).format(**values) for texts in (scenes, causes, actions))
    if zh:
        title = f"{scene}{values['mod']} 的 {values['thing']} {rnd.choice(('报错', '失败', '不生效', '起不来'))}"
        alias = f"{values['mod']} {values['thing']} {rnd.choice(('fails', 'breaks', 'is ignored', 'does not start'))}: {rnd.choice(EN_CAUSES).format(**values)}"
        rule = f"{stack.tool}：{action}。"
    else:
        title = f"{scene} the {values['mod']} {values['thing']} {rnd.choice(('fails', 'breaks', 'is ignored', 'does not start'))}"
        alias = f"{values['mod']} 的 {values['thing']} {rnd.choice(('报错', '失败', '不生效', '起不来'))}，{rnd.choice(ZH_CAUSES).format(**values)}"
        rule = f"{stack.tool}: {action}."
    conditions = [Condition(error=error)]
    if rnd.random() < 0.5:
        conditions.append(Condition(command=command + " *"))
    return Entry(
        id=f"made-{number}", title=title, kind=Kind.PITFALL, track=Track.PERSONAL,
        sections=(("scenario", scene), ("symptom", error), ("root_cause", cause), ("right_action", action), ("rule", rule)),
        aliases=(alias,), domain=stack.domain, language="zh" if zh else "en", applies_when=tuple(conditions),
        tags=(stack.tool, values["part"]), created="2026-01-01", updated="2026-01-01",
    )
