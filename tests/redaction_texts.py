"""Texts to measure the redaction with: large ones of several materials, and pieces for made-up ones."""

from __future__ import annotations

import base64
import json
import random
import time
import uuid
from collections.abc import Iterator

from experience_forge.core import redact

PIECES = [
    *("password", "token", "key", "=", ":", " ", "\n", '"', "'", "密码", "是", "：", "eyJ", ".", "-", "_", "sk-", "a"),
    *("A", "1", "://", "@", "/", "\\", "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----", "$2a$"),
    *("&", "Cookie:", ";", "curl -u ", "mysql ", " -p", "(", "（", "[", "{", "<", ">", "+", "138", "0", "Bearer "),
    *("value", "/home/", "C:\\Users\\", "login ", "echo ", "|", "sig=", "EAA", "_auth", "secret_access_key", "账号"),
    *("，", "api", "\\n", "=>", "default", "name:", "xoxb-", "abcdefghijklmnop"),
]
_LOG = (
    "2026-03-0{a} 10:1{a}:{b:02d},{c:03d} INFO [worker-{a}] GET /api/v{a}/orders/{d}?page={b} 200 {c}ms "
    "ip=10.{b}.{a}.{b} user={e}@shop{a}.example.org trace={f} size={d} file=/srv/app/src/mod_{b}.py:{c}\n",
    "[{d}] Traceback: File \"/usr/lib/python3.1{a}/site-packages/pkg_{b}/core.py\", line {c}, in call_{a}\n",
    "commit {f} Author: {e} <{e}@firm{a}.net> Date: Mon {b} 2026 phone 555-{c:03d} build #{d} v{a}.{b}.{c}\n",
)
_ZH = (
    "2026年3月{a}日 10:1{a}:{b:02d} 订单{d}已支付，金额{c}元，客户{e}@shop{a}.example.org，流水号{f}，共{b}件\n",
    "【第{b}批】接口 /api/v{a}/orders/{d} 返回 {c}，重试 {a} 次后成功；令牌桶容量设为 {b}，密码策略要求 {a} 位以上\n",
    "服务器 10.{b}.{a}.{b} 的日志写在 /srv/app/log_{b}.txt 第 {c} 行，版本 v{a}.{b}.{c}，提交 {f}\n",
)
_CODE = (
    "def load_{e}_{a}(path: str, token: Token, *, max_tokens: int = {d}) -> dict[str, int]:\n"
    "    \"\"\"Reads the key of `{e}` and returns what the parser made of it.\"\"\"\n"
    "    tokens = [token for token in lexer.split(path, key=lambda item: item[{a}]) if token.kind != Kind.KEY_{b}]\n",
    "    self.cache[key] = parser.parse(text[{b}:{c}], keys=self.keys, author=None)  # see issue #{d}\n",
    "  \"node_modules/@scope{a}/{e}\": {{\"version\": \"{a}.{b}.{c}\", "
    "\"resolved\": \"https://registry.example.org/{e}-{a}.tgz\"}},\n",
)
_PROSE = (
    "The user asked why the login page keeps forgetting the password after step {a}; the answer was a stale cache. ",
    "Nothing else changed between the two runs, so the {e} module was left as it was and the tests were run again.\n",
    "用户说登录之后还是会提示密码错误，查了半天发现是缓存没有刷新，所以第 {a} 步要先清掉旧的文件再重试。",
    "其余的部分没有改动，测试全部通过，之后把这条经验记了下来，避免下次再花同样的时间。\n",
)


def materials(size: int) -> Iterator[tuple[str, str]]:
    """(name, text) with each text about `size` bytes of UTF-8, the same in every run."""
    for name, lines in (("log", _LOG), ("log zh", _ZH), ("code", _CODE), ("prose", _PROSE)):
        yield name, _filled(lines, size)
    yield "transcript", _transcript(size)


def odd_materials(size: int) -> Iterator[tuple[str, str]]:
    """(name, text) as in `materials`: one line of base64, and a page with secrets that comes again and again."""
    chars = random.Random(11)
    yield "base64", base64.b64encode(chars.randbytes(size * 3 // 4)).decode("ascii")
    page = "".join(_line(chars, chars.choice((_LOG, _ZH, _CODE, _PROSE))) for _ in range(20)) + "".join(
        f"{name}={''.join(chars.choice('aB3xY7kLmQ9') for _ in range(20))}\n{name.lower()}: hidden\n"
        for name in ("DB_PASSWORD", "API_TOKEN", "CLIENT_SECRET", "REDIS_PASS", "SIGNING_KEY", "JWT_SECRET") * 2
    )
    yield "page again", page * (size // len(page.encode("utf-8")) + 1)


def _filled(lines: tuple[str, ...], size: int) -> str:
    chars = random.Random(9)
    parts: list[str] = []
    while size > 0:
        parts.append(_line(chars, lines))
        size -= len(parts[-1].encode("utf-8"))
    return "".join(parts)


def _line(chars: random.Random, lines: tuple[str, ...]) -> str:
    return chars.choice(lines).format(
        a=chars.randint(1, 9),
        b=chars.randint(0, 59),
        c=chars.randint(0, 999),
        d=chars.randint(10**5, 10**8),
        e="".join(chars.choice("abcdefghijklmnoprstuvw") for _ in range(chars.randint(4, 9))),
        f=f"{chars.getrandbits(160):040x}",
    )


def _transcript(size: int) -> str:
    chars = random.Random(10)
    parts: list[str] = []
    while size > 0:
        record = {
            "type": chars.choice(("user", "assistant")),
            "uuid": str(uuid.UUID(int=chars.getrandbits(128), version=4)),
            "cwd": "/srv/app",
            "message": {"content": [{"type": "text", "text": "".join(
                _line(chars, chars.choice((_LOG, _ZH, _CODE, _PROSE))) for _ in range(8)
            )}]},
        }
        parts.append(json.dumps(record, ensure_ascii=False) + "\n")
        size -= len(parts[-1].encode("utf-8"))
    return "".join(parts)


def growth(rules: redact.Rules, head: str, unit: str) -> float:
    """Work on 16,000 characters over work on 4,000, the least of several tries when it looks bad."""
    ratio = 0.0
    for _ in range(4):
        ratio = _work(rules, head, unit, 16_000) / max(_work(rules, head, unit, 4_000), 1e-4)
        if ratio < 7:
            break
    return ratio


def _work(rules: redact.Rules, head: str, unit: str, size: int) -> float:
    text = (head + unit * (size // len(unit) + 1))[:size]
    begun = time.process_time()
    list(redact.find(text, rules))
    return time.process_time() - begun
