"""Mutants of C++ headers: one token or statement changed, where the change is neither text nor a type."""
import random
import re

# How often each kind is drawn, relative to the others.
KINDS = {"arithmetic": 3, "comparison": 3, "constant": 3, "statement": 3, "logic": 1.5, "return": 1.5, "sign": 1, "cos_sin": 0.8,
         "max_min": 0.8}
MESSAGES = re.compile(r"\b(require|refuse|invalid_argument|runtime_error|out_of_range|shown)\s*\(")


def _closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text) - 1


def masked(text):
    """The text with all that is not to be changed blanked by \\0: comments, strings, directives, static_asserts, messages of errors."""
    out = list(text)

    def blank(first, last):
        for i in range(first, last):
            if out[i] != "\n":
                out[i] = "\0"

    strings = []
    i = 0
    while i < len(text):
        if text.startswith("//", i) or text.startswith("/*", i):
            end = text.find("\n", i) if text[i + 1] == "/" else text.find("*/", i) + 2
            end = len(text) if end < 0 else end
            blank(i, end)
            i = end
        elif text[i] == '"' or (text[i] == "'" and not (i and text[i - 1].isalnum())):
            end = i + 1
            while text[end] != text[i]:
                end += 2 if text[end] == "\\" else 1
            if text[i] == '"':
                strings.append((i, end + 1))
            blank(i, end + 1)
            i = end + 1
        else:
            i += 1
    position = 0
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            blank(position, position + len(line))
        position += len(line) + 1
    code = "".join(out)
    for m in re.finditer(r"\bstatic_assert\s*\(", code):
        blank(m.start(), _closing(code, m.end() - 1) + 1)
    for m in MESSAGES.finditer(code):
        end = _closing(code, m.end() - 1)
        if m.group(1) != "require":
            blank(m.start(), end + 1)
        elif message := next((first for first, last in strings if m.end() <= first < end), None):
            blank(message, end)  # what must hold stays
    for m in re.finditer(r"\[\[.*?\]\]|\b(using|namespace)\b[^\n;{]*", code):
        blank(m.start(), m.end())
    return "".join(out)


def conditions(text, position):
    """The #if conditions that a place stands under, innermost last."""
    stack = []
    at = 0
    for line in text.split("\n"):
        if at > position:
            break
        line_at = line.strip()
        if re.match(r"#\s*if", line_at):
            stack.append(line_at)
        elif re.match(r"#\s*elif", line_at):
            stack[-1] = "else of " + stack[-1] + " " + line_at
        elif re.match(r"#\s*else", line_at):
            stack[-1] = "else of " + stack[-1]
        elif re.match(r"#\s*endif", line_at):
            stack.pop()
        at += len(line) + 1
    return stack


DECLARATION = re.compile(
    r"(return|using|constexpr|const|auto|template|struct|class|static|inline|friend|typedef|enum|explicit|virtual|if constexpr|\}|public"
    r"|private|std::\w+(<[^;=]*>)? (const )?\w+|[\w:<>, ]+ const [\w\[]"
    r"|(double|float|int|bool|Eigen::\w+|\w+_type|char|unsigned|T|std::size_t|std::int64_t) \w)")

# Two names beside one another, as in `integers kind[2];` or `number x(0), *y;`: a type and what is declared.
NAMES = re.compile(r"(?!(else|delete|throw|goto|case|new)\b)[\w:]+(<.*>)?(::\w+)*( const)?( |[*&]+ | [*&]+)[*&]?\w+ ?([;,=\[({]|$)")


def in_types(code):
    """The places of members: (first, last) of what stands between the braces of each class, struct, union or enum, and not in its functions."""
    found, open_braces, first, head = [], [], 0, 0
    for i, letter in enumerate(code):
        if letter == "{":
            before, less = code[head:i], None
            while before != less:  # no `class` of template <class T>
                before, less = re.sub(r"<[^<>]*>", "", before), before
            if open_braces and open_braces[-1]:
                found.append((first, i))
            open_braces.append(bool(re.search(r"\b(struct|class|union|enum)\b", before)))
            first = i + 1
        elif letter == "}" and open_braces:
            if open_braces.pop():
                found.append((first, i))
            first = i + 1
        if letter in "{};":
            head = i + 1
    return found


def sites(text):
    """All places to change: (kind, first, last, alternatives)."""
    code = masked(text)
    found = []
    for m in re.finditer(r"(?<=[\w\)\]}\'] )([-+*/])(?= [\w\(\-:!~])|(?<=[\w\)\]}] )([-+*/])(?==\s)", code):
        found.append(("arithmetic", m.start(), m.end(), [o for o in "+-*/" if o != m.group()]))
    others = {"<": ["<=", ">", ">="], "<=": ["<", ">", ">="], ">": [">=", "<", "<="], ">=": [">", "<", "<="], "==": ["!=", "<=", ">="],
              "!=": ["==", "<", ">"]}
    for m in re.finditer(r"(?<=[\w\)\]}\0\'] )(<=|>=|==|!=|<|>)(?= [\w\(\-:!\0])", code):
        before = code[code.rfind("\n", 0, m.start()) + 1:m.start()]
        if not re.search(r"(operator|template)\s*$", before):
            found.append(("comparison", m.start(), m.end(), others[m.group()]))
    for m in re.finditer(r"(?<=[\w\)\]}\0>] )(&&|\|\|)(?=[ \n])", code):
        found.append(("logic", m.start(), m.end(), ["||" if m.group() == "&&" else "&&"]))
    for m in re.finditer(r"(?<![\w.\0'])((?:0x[0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*|\d[\d']*\.?[\d']*(?:[eE][-+]?\d+)?f?)(?![\w.'])", code):
        number = m.group()
        is_float = "." in number or ("e" in number.lower() and not number.startswith("0x"))
        suffix = ".0f" if is_float and number.endswith("f") else ".0" if is_float else ""
        doubled = [] if re.fullmatch(r"(0|0x0+)[uUlLzZ]*|0\.0*f?", number) else [f"({number} * 2{suffix})"]
        found.append(("constant", m.start(), m.end(), [f"({number} + 1{suffix})", f"({number} - 1{suffix})"] + doubled))
    for m in re.finditer(r"\b(cos|sin)\b", code):
        found.append(("cos_sin", m.start(), m.end(), ["sin" if m.group() == "cos" else "cos"]))
    for m in re.finditer(r"(?:(?<=[\(\[{,=?:<>+*/&|] )|(?<=[\(\[{])|(?<=return ))-(?=[\w\(.])", code):
        found.append(("sign", m.start(), m.end(), [""]))
    for m in re.finditer(r"(?<=std::)(max|min)(?=[\(<])", code):
        found.append(("max_min", m.start(), m.end(), ["min" if m.group() == "max" else "max"]))
    for m in re.finditer(r"(?<=\n)(\s+if )\((?!constexpr)[^\n\0]*\) return\b", code):
        found.append(("return", m.end(1) + 1, m.end(1) + 1, ["((void)0, true) || "]))
    members = in_types(code)
    position, before = 0, ""
    for line in code.split("\n"):
        statement = line.strip("\0 ")
        if (statement.endswith(";") and line.startswith("  ") and before.endswith((";", "{", "}", ")", "else")) and
                re.match(r"^[\w:\(\*\+\[\-]", statement) and not DECLARATION.match(statement) and
                statement.count("(") == statement.count(")") and statement.count("{") == statement.count("}") and
                not re.match(r"[\w:<>, \*&]+ \w+(\{.*\})?;$", statement) and not NAMES.match(statement) and
                not any(first <= position < last for first, last in members)):
            first = position + len(line) - len(line.lstrip(" "))
            found.append(("statement", first, position + len(line.rstrip("\0 ")), [";"]))
        if statement:
            before = statement
        position += len(line) + 1
    return found


def sample(headers, count, seed):
    """So many mutants of headers {folder: [path]}, as many of each folder; the same ones for the same seed and headers."""
    drawing = random.Random(seed)
    pools = {}
    for folder, paths in headers.items():
        pools[folder] = {kind: [] for kind in KINDS}
        for path in paths:
            text = path.read_text()
            for kind, first, last, alternatives in sites(text):
                pools[folder][kind].append((path, text, first, last, alternatives))
    drawn, seen = [], set()
    for turn in range(20 * count):
        if len(drawn) == count:
            break
        pool = pools[list(pools)[turn % len(pools)]]
        kinds = [kind for kind in KINDS if pool[kind]]
        if not kinds:
            continue
        kind = drawing.choices(kinds, [KINDS[k] for k in kinds])[0]
        path, text, first, last, alternatives = drawing.choice(pool[kind])
        mutant = (path, first, last, drawing.choice(alternatives))
        if mutant not in seen:
            seen.add(mutant)
            drawn.append({"kind": kind, "path": path, "first": first, "last": last, "now": mutant[3], "was": text[first:last],
                          "line": text.count("\n", 0, first) + 1, "conditions": conditions(text, first)})
    return drawn
