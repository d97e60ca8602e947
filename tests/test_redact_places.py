"""Secrets in places of their own: behind a name in brackets, below it, in a table, under a wide label."""

from __future__ import annotations

import random
import string
import time

import pytest

from experience_forge.core import redact
from experience_forge.store import ruleset

LETTERS = string.ascii_letters + string.digits


@pytest.fixture(scope="module")
def rules():
    return redact.Rules(ruleset.load("redaction"))


def made(size, alphabet=LETTERS):
    chars = random.Random(size)
    while True:
        value = "".join(chars.choice(alphabet) for _ in range(size))
        if any(map(str.isdigit, value)) or alphabet == string.ascii_lowercase:
            return value


PLACES = {
    "a Kubernetes secret with one pad": ("kind: Secret\ndata:\n  password: {}\n", made(15) + "="),
    "a longer one": ("data:\n  db-password: {}\n", made(27) + "="),
    "the key of a certificate": ("data:\n  tls.key: {}\n", made(40) + "=="),
    "a key for SSH": ("  ssh-privatekey: {}\n", made(44)),
    "Chinese brackets": ("数据库密码（{}）已经改了", "pcmRx" + "WEwkp6u"),
    "a token in Chinese brackets": ("把令牌（{}）放进环境变量", made(40, "0123456789abcdef")),
    "brackets": ("the database password ({}) was changed", "pXJ7x" + "TZhFwvK"),
    "a key in brackets": ("the api key ({}) expired", "Zx81kQ" + "p0Lm44Tr"),
    "a word with a number": ("my password is {}", "hunt" + "er9392"),
    "a word with a number, reset": ("the password was changed to {}", "tige" + "r5681"),
    "a PAT by its variable": ("export AZURE_DEVOPS_EXT_PAT={}", made(52, string.ascii_lowercase + "234567")),
    "a bare PAT of Azure": ("use {} there", made(76) + "AZ" + "DO" + made(4)),
    "a newer key of Azure": ("use {} there", made(52) + "JQ" + "QJ99" + "BEAC" + made(22)),
    "a phrase for a new key": ("ssh-keygen -t rsa -N {} -f k", made(12)),
    "a block of YAML": ("password: >-\n  {}\nuser: x", made(14)),
    "the line below, Chinese": ("密码：\n{}\n", made(12)),
    "the line below": ("Password:\n{}\n", made(12)),
    "a row of a table": ("| password | {} |", made(12)),
    "a column of a table": ("| user | password |\n|---|---|\n| root | {} |", made(12)),
    "a column of a Chinese table": ("| 账号 | 数据库密码 |\n| :--- | ---: |\n| root | `{}` |", made(12)),
    "a wide label": ("ｐａｓｓｗｏｒｄ：{}", made(12)),
    "a wide label and sign": ("ＰＡＳＳＷＯＲＤ＝{}", made(12)),
}


@pytest.mark.parametrize(("around", "value"), PLACES.values(), ids=PLACES)
def test_the_value_leaves_its_place_and_the_rest_stays(around, value, rules):
    """A secret in brackets, on the next line, in a cell or under a wide label goes, and nothing else does."""
    before, after = around.split("{}")
    result = redact.redact(around.format(value), rules, b"k").text
    assert value not in result and result.startswith(before) and result.endswith(after)


@pytest.mark.parametrize("text", [
    "the password (at least 8 characters) is checked", "the token (JWT) is verified", "API key (AKIA format) needed",
    "密码（SHA256）不可逆", "密码（PBKDF2WithHmacSHA256）不可逆", "令牌（getAccessTokenV2Async）由后端刷新", 
    "密码（至少8位）不能为空",
    "the password is sha256", "the password is required", "the password was changed in release2024", "token is v2",
    "| field | type |\n|---|---|\n| password | string |\n| token | VARCHAR2 |",
    "| name | token |\n|---|---|\n| lexer | IDENTIFIER |\n| number | INTEGER42 |",
    "| model | max token |\n|--|--|\n| gpt | 128000 |", "| password | VARCHAR(255) |",
    "password:\n  type: string", "password: |\n  must not be empty", "密码：\n请输入", "Password:\nRequired",
    "def f(password: str = None): pass", "FILE_PAT=*.log",
    'ssh-keygen -t ed25519 -N "" -f k', 'ssh-keygen -N "$PHRASE"',
    "tls.key: /etc/ssl/tls.key", "tls.key: {{ .Values.key }}", "press the access key (Alt+Shift+K2)",
    "ＡＰＩ 的 ｔｏｋｅｎ 数量", "secret (kubernetes.io/tls) is mounted",
])  # fmt: skip
def test_remarks_types_and_methods_in_these_places_stay(text, rules):
    """What stands in brackets, below a name or in a cell is mostly no secret: it stays byte for byte."""
    assert redact.redact(text, rules, b"k").text == text


UNITS = ["|password|\n|--|\n", "| a |\n|-|\n|b|\n", "password (",
         "密码（", "密码：\n", "ｐ", "-|", "password | ", "tls.key: a"]


@pytest.mark.parametrize("unit", UNITS)
def test_these_places_take_work_in_step(unit, rules):
    """Repeating what a place begins with costs no more than in proportion."""
    def spent(size):
        text = unit * (size // len(unit))
        began = time.process_time()
        redact.redact(text, rules, b"k")
        return time.process_time() - began

    assert min(spent(64_000) for _ in range(3)) < 12 * max(0.002, min(spent(16_000) for _ in range(3)))
