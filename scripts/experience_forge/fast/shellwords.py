"""Shell lines as words: each simple command of a line, and the patterns that match them.

Quoted text and here-documents are not commands; `$(...)`, backticks, `bash -c '...'`, `eval` and
the command behind `sudo`, `env`, `timeout`, `xargs` are. A reader for matching, not a shell: of
what it can't know (variables, functions, aliases) it says nothing.
"""

from .globs import glob

_KEYWORDS = frozenset("if then else elif fi do done while until esac ! time { } coproc".split())
_SHELLS = frozenset("bash sh zsh dash ksh".split())
_WRAPPERS = {
    # name: options that take a value of their own
    "sudo": "-u -g -h -p -C -U -r -t -D", "doas": "-u -C", "env": "-u -C -S", "timeout": "-s -k", "nohup": "",
    "command": "", "exec": "-a", "nice": "-n", "ionice": "-c -n -p", "xargs": "-I -n -P -L -d -E -s -a",
    "time": "-f -o", "stdbuf": "-i -o -e", "builtin": "", "setsid": "",
}
KEY_WORDS = 3
_DEPTH = 8
_LIMIT = 20000


def commands(line: str) -> list[list[str]]:
    """The simple commands of a line, each a list of words; nested ones included, wrappers also unwrapped."""
    found: list[list[str]] = []
    _line(line[:_LIMIT], found, 0)
    return found


def matches(pattern: str, words: list[str]) -> bool:
    """Whether words fit a pattern as in the client's permission rules: `npm install *` also without more words.

    `*` stands for any characters, blanks included; without one the whole command must be equal.
    """
    if not words:
        return False
    text = " ".join([name_of(words[0]), *words[1:]])
    pattern = " ".join(pattern.split())
    if pattern.endswith(":*"):
        pattern = pattern[:-2] + " *"
    if pattern.endswith(" *") and glob(pattern[:-2].replace("[", "[[]"), text):
        return True
    return glob(pattern.replace("[", "[[]").replace("?", "[?]"), text)


def key_of(pattern: str) -> str:
    """The prefilter key of a pattern: its literal words before the first `*`, at most three; `*` without one."""
    words = pattern.replace(":*", " *").split()
    literal = []
    for word in words[:KEY_WORDS]:
        if "*" in word:
            break
        literal.append(word)
    return " ".join(literal) or "*"


def keys_for(found: list[list[str]]) -> list[str]:
    """All keys under which a pattern for these commands may stand."""
    keys = ["*"]
    for words in found:
        key = name_of(words[0])
        for word in ("", *words[1:KEY_WORDS]):
            key = key + " " + word if word else key
            if key not in keys:
                keys.append(key)
    return keys


def name_of(word: str) -> str:
    """The name of a program without its folder."""
    return word.replace("\\", "/").rpartition("/")[2] or word


def _line(line: str, found: list[list[str]], depth: int) -> None:
    if depth > _DEPTH:
        return
    for words in _parsed(line, found, depth):
        _command(words, found, depth)


def _command(words: list[str], found: list[list[str]], depth: int) -> None:
    while words and (words[0] in _KEYWORDS or _assignment(words[0])):
        words = words[1:]
    if words and words[0] in ("for", "case", "select", "function"):
        return
    if not words:
        return
    found.append(words)
    name = name_of(words[0])
    if name in _SHELLS:
        for index, word in enumerate(words[1:], 1):
            if word.startswith("-") and not word.startswith("--") and "c" in word and index + 1 < len(words):
                _line(words[index + 1], found, depth + 1)
                break
    elif name == "eval":
        _line(" ".join(words[1:]), found, depth + 1)
    elif name in _WRAPPERS:
        rest = _unwrapped(name, words[1:])
        if rest:
            _command(rest, found, depth + 1) if depth < _DEPTH else None


def _unwrapped(name: str, words: list[str]) -> list[str]:
    takes = _WRAPPERS[name].split()
    while words and words[0].startswith("-") and len(words[0]) > 1:
        words = words[2:] if words[0] in takes else words[1:]
    if name == "timeout":
        words = words[1:]
    return words


def _assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.rstrip("+").replace("_", "a").isalnum() and not name[:1].isdigit()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.heredocs: list[str] = []

    def peek(self, length: int = 1) -> str:
        return self.text[self.at:self.at + length]


def _parsed(line: str, found: list[list[str]], depth: int) -> list[list[str]]:
    """Lists of words, one a simple command; commands inside `$(...)` go straight into `found`."""
    reader = _Reader(line)
    result: list[list[str]] = []
    words: list[str] = []
    word: list[str] = []
    begun = False
    skip_next = ""

    def end_word() -> None:
        nonlocal word, begun, skip_next
        if begun:
            text = "".join(word)
            if skip_next == "heredoc":
                reader.heredocs.append(text)
            elif not skip_next:
                words.append(text)
            skip_next = ""
        word, begun = [], False

    def end_command() -> None:
        nonlocal words, skip_next
        end_word()
        skip_next = ""
        if words:
            result.append(words)
        words = []

    while reader.at < len(line):
        mark = line[reader.at]
        if mark in " \t\r":
            end_word()
            reader.at += 1
        elif mark == "\\":
            if reader.peek(2) != "\\\n":
                word.append(line[reader.at + 1:reader.at + 2])
                begun = True
            reader.at += 2
        elif mark == "'":
            end = line.find("'", reader.at + 1)
            end = len(line) if end < 0 else end
            word.append(line[reader.at + 1:end])
            begun = True
            reader.at = end + 1
        elif mark == '"':
            word.append(_double(reader, found, depth))
            begun = True
        elif mark == "`" or reader.peek(2) in ("$(", "<(", ">("):
            word.append(_substitution(reader, found, depth))
            begun = True
        elif mark == "#" and not begun:
            end = line.find("\n", reader.at)
            reader.at = len(line) if end < 0 else end
        elif mark in "<>":
            if begun and "".join(word).isdigit():
                word, begun = [], False
            end_word()
            if reader.peek(3) == "<<<":
                reader.at += 3
                skip_next = "redirect"
            elif reader.peek(2) == "<<":
                reader.at += 3 if reader.peek(3) == "<<-" else 2
                skip_next = "heredoc"
            else:
                reader.at += 1
                while reader.peek() in ("&", ">", "|") and reader.peek():
                    reader.at += 1
                skip_next = "redirect"
        elif mark == "\n":
            end_command()
            reader.at += 1
            _skip_heredocs(reader)
        elif mark in ";|&()":
            if mark == "&" and reader.peek(2) == "&>":
                end_word()
                reader.at += 1
                continue
            end_command()
            reader.at += 1
        else:
            word.append(mark)
            begun = True
            reader.at += 1
    end_command()
    return result


def _skip_heredocs(reader: _Reader) -> None:
    for name in reader.heredocs:
        while reader.at < len(reader.text):
            end = reader.text.find("\n", reader.at)
            end = len(reader.text) if end < 0 else end
            body = reader.text[reader.at:end].strip()
            reader.at = end + 1
            if body == name:
                break
    reader.heredocs = []


def _double(reader: _Reader, found: list[list[str]], depth: int) -> str:
    """The text of a double-quoted string; commands inside its substitutions go into `found`."""
    reader.at += 1
    out = []
    while reader.at < len(reader.text):
        mark = reader.text[reader.at]
        if mark == '"':
            reader.at += 1
            break
        if mark == "\\":
            out.append(reader.text[reader.at + 1:reader.at + 2])
            reader.at += 2
        elif mark == "`" or reader.peek(2) == "$(":
            out.append(_substitution(reader, found, depth))
        else:
            out.append(mark)
            reader.at += 1
    return "".join(out)


def _substitution(reader: _Reader, found: list[list[str]], depth: int) -> str:
    """Skip `$(...)`, `<(...)` or backticks, their commands put into `found`; gives their text back."""
    text = reader.text
    begin = reader.at
    if text[begin] == "`":
        end = text.find("`", begin + 1)
        end = len(text) if end < 0 else end
        inner = text[begin + 1:end]
        reader.at = end + 1
    else:
        end = _closing(text, begin + 2)
        inner = text[begin + 2:end]
        reader.at = end + 1
    if not inner.startswith("("):  # `$((1 + 2))` is arithmetic
        _line(inner, found, depth + 1)
    return text[begin:reader.at]


def _closing(text: str, at: int, depth: int = 0) -> int:
    """Index of the parenthesis that closes the one before `at`; quotes and nested ones skipped."""
    if depth > _DEPTH:
        return len(text)
    level = 1
    while at < len(text):
        mark = text[at]
        if mark == "\\":
            at += 1
        elif mark == "<" and text.startswith("<<", at) and not text.startswith("<<<", at):
            # An apostrophe in a here-document is text: `git commit -m "$(cat <<'EOF' ... EOF)"`.
            at = _heredoc_end(text, at) - 1
        elif mark == "'":
            end = text.find("'", at + 1)
            at = len(text) if end < 0 else end
        elif mark == '"':
            at += 1
            while at < len(text) and text[at] != '"':
                if text[at] == "\\":
                    at += 1
                elif text.startswith("$(", at):
                    at = _closing(text, at + 2, depth + 1)
                at += 1
        elif mark == "(":
            level += 1
        elif mark == ")":
            level -= 1
            if not level:
                return at
        at += 1
    return len(text)


def _heredoc_end(text: str, at: int) -> int:
    """Index after the here-document whose `<<` is at `at`; its own line's rest is skipped with it."""
    start = at + 3 if text.startswith("<<-", at) else at + 2
    line_end = text.find("\n", start)
    if line_end < 0:
        return len(text)
    first = text[start:line_end].strip()
    name = first.split()[0].strip("'\"\\;)") if first else ""
    while line_end < len(text):
        begin = line_end + 1
        line_end = text.find("\n", begin)
        line_end = len(text) if line_end < 0 else line_end
        if text[begin:line_end].strip() == name:
            return line_end
    return len(text)
