"""Forms of secrets that an outside check found missing: each class has its case here."""

from __future__ import annotations

import random
import string
import time

import pytest

from experience_forge.core import redact
from experience_forge.store import ruleset

CHARS = random.Random(31)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WORDS = ["river", "stone", "candle", "forest", "window", "copper"] * 2


def made(size, alphabet=ALNUM):
    return "".join(CHARS.choice(alphabet) for _ in range(size))


def uuid():
    return "-".join(made(size, HEX) for size in (8, 4, 4, 4, 12))


@pytest.fixture(scope="module")
def rules():
    return redact.Rules(ruleset.load("redaction"))


def cleaned(text, rules):
    return redact.redact(text, rules, b"k" * 32).text


CASES = {
    "a webhook path stands behind its host": ("https://chat.example/api/webhooks/{}", "1" * 18 + "/" + made(60)),
    "a hook path stands behind a version": ("https://x.example/bot/v2/hook/{}", uuid()),
    "a bot token stands in its own URL": ("https://api.telegram.org/bot{}/getMe", "8123456780:" + "AA" + made(33)),
    "a signature in a signed URL": ("https://b.example/o?X-Amz-Signature={} 403", made(64, HEX)),
    "a kubeconfig key": ("    client-key-data: {}", made(200)),
    "a macaroon with a slash early": ("FlyV1 {}", "fm" + "2_ab/" + made(90)),
    "a provider whose token ends in a UUID": ("hub={}", "pat-" + "na1-" + uuid()),
    "a marketplace token": ("using {} now", "amzn" + ".mws." + uuid()),
    "an application key in base64": ("APP_KEY={}", "base" + "64:" + made(43) + "="),
    "a name that ends in base": ("secret_key_base: {}", made(128, HEX)),
    "a JWE without an encrypted key": ("got {} back", ".".join(["eyJ" + made(40), "", made(16), made(60), made(22)])),
    "a private key without its frame": ("key={}", "MIIEvQ" + "IBADANBgkqhkiG9w0BAQEF" + made(300)),
    "a private member of a JWK": ('{{"kty":"OKP","crv":"Ed25519","d":"{}"}}', made(43)),
    "a wallet made from its key": ('new ethers.Wallet("{}")', "0x" + made(64, HEX)),
    "a seed phrase": ("seed phrase: {}", " ".join(WORDS)),
    "a seed phrase in Chinese": ("助记词是 {}，保管好", " ".join(WORDS)),
    "a session of a servlet": ("JSESSIONID={} gone", made(32, "0123456789ABCDEF")),
    "an answer to a digest": ('Digest username="x", response="{}"', made(32, HEX)),
    "the code of a card": ('{{"cvv":"{}"}}', "731"),
    "a PIN": ("The PIN for the safe is {}.", "4831"),
    "a password for a named thing": ("My password for the staging box is {}.", "Tr0ub4" + "dor&3"),
    "a mail code in Chinese": ("授权码是{}，", made(16, string.ascii_lowercase)),
    "name and password in a call": ('driver(url, auth=("neo", "{}"))', "graphene-Dust"),
    "a credential object": ('new NetworkCredential("jo", "{}")', "TannenBaum"),
    "a secure string": ('ConvertTo-SecureString "{}" -AsPlainText', "GartenZwerg"),
    "a password in braces": ("Server=db;UID=sa;PWD={{{}}};", "ur;ban"),
    "a password among the words of a connection": ("Server=db;User Id=sa;Password={};", "KirschKern"),
    "a password beside its quoted name": ('required username="app" password="{}";', "dunklerWald"),
    "a directory password": ("bindpw {}", "bergZiege"),
    "a wifi key": ('  psk="{}"', "guteNacht"),
    "a community": ("snmp-server community {} RO", "privateer"),
    "a role's password": ("ALTER USER app WITH PASSWORD '{}';", "wildHoney"),
    "a new user's password": ("CREATE USER a IDENTIFIED WITH x_plugin BY '{}';", "kuehlSchrank"),
    "a store password": ("keytool -storepass {} -list", "silverFox"),
    "a network share": ("net use Z: \\\\srv\\share {} /user:jo", "FederBall"),
    "a directory search": ("ldapsearch -x -D cn=a -w {} -b dc=x", "HaselNuss"),
    "a passphrase of words": ('gpg --batch --passphrase "{}" -d x', "purple rain in may"),
    "a token read by a login": ("echo {} | az devops login", made(52, string.ascii_lowercase + string.digits)),
    "hex beside the word token": ("set LINODE_TOKEN to {} first", made(64, HEX)),
    "hex beside the Chinese word": ("私钥为 {}。", made(64, HEX)),
    "hex after a remark": ("密钥（别外传）：{}", made(32, HEX)),
    "a password after its account": ("账号 admin 密码 {}", "HuaYuan66"),
    "a login flag of a scanner": ("mvn sonar:sonar -Dsonar.login={}", made(40, HEX)),
    "an address with an escaped sign": ("GET /u?email={}&x=1", "jane%40" + "dev.example"),
}


@pytest.mark.parametrize(("around", "value"), CASES.values(), ids=CASES)
def test_the_value_goes_and_the_rest_stays(around, value, rules):
    """The forms of providers, databases, commands and wallets, in the places where they really stand."""
    text = around.format(value)
    before, after = around.format("\0").split("\0")
    result = cleaned(text, rules)
    assert value not in result and value[:12] not in result
    assert result.startswith(before) and result.endswith(after)


@pytest.mark.parametrize(
    "text",
    [
        "ratio 0." + "138" + "12345678",
        "see src/home/page.tsx",
        "https://shop.example/home/garden/1",
        "session_id: 0b3f1a52-1111-4222-8333-944445555666",
        "auth=(user, password)",
        'login("jo", prompt)',
        "PIN 13 of the board",
        "CVC is printed on the back",
        "the mnemonic stands for a word, and it is used by people who learn",
        "ALTER USER app WITH PASSWORD NULL",
        '"kty" and "d": see RFC 7517',
        "keytool -storepass changeit -list",
        "net use Z: \\\\srv\\share *",
        "pkg:npm/%40babel/core@7.1.0",
        "token 是 JWT，密钥为空",
        "The password for the user is stored as a hash",
        "a token for each of the workers is created on start",
    ],
)
def test_what_only_looks_alike_stays(text, rules):
    """Decimals, relative folders, web paths, ids and prose about the same things."""
    assert cleaned(text, rules) == text


def test_a_token_in_a_url_leaves_the_host(rules):
    """A user name that is also a header's name does not take the host along."""
    text = "https://x-access-token:" + "gh" + "s_" + made(36) + "@github.com/acme/app.git/': 403"
    result = cleaned(text, rules)
    assert "@github.com/acme/app.git/': 403" in result and "s_" + "x" not in result


STARTS = ["phrase ", "mnemonic: ab ", 'auth("a","', '"d":"x', "net use \\\\", "sess=", "%40a.b", "密码账号a", "pwd={"]


@pytest.mark.parametrize("unit", STARTS)
def test_new_forms_take_work_in_step(unit, rules):
    """Repeating what a form begins with costs no more than in proportion."""

    def work(size):
        text = '"kty"' + (unit * size)[:size]
        begun = time.process_time()
        list(redact.find(text, rules))
        return time.process_time() - begun

    assert any(work(40_000) < 9 * max(work(10_000), 1e-3) for _ in range(4))
