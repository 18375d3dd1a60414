"""MkDocs' hook: code in a sentence or a table that names a public class or function becomes a link of its docstring.
Code of one word gets a class, so that tables do not break it.

    `nn::Dense`   `relu(x)`   `tenon::Model`   `dataset::shuffle`   `nn/loss/huber.hpp`   `<tenon/more.hpp>`

A name without its namespace is looked up in the namespace of the header that its row of a table names, or of its page.
Columns of PyTorch's and MindSpore's names have no links.
Elsewhere it has to be the only one of its kind, and one word in small letters has to be an operator or a name of tenon.
Doxygen's list of names is tenon.tag.
"""
import collections
import os
import re
from html import unescape
from xml.etree import ElementTree

PAGES = {"docs/data": "dataset", "docs/sources": "dataset", "docs/cache": "dataset", "docs/distributed": "dist"}
found = {}  # addresses of full names
named = collections.defaultdict(set)  # full names of a name as it is written


def on_config(config):
    path = os.path.join(os.path.dirname(config["config_file_path"]), "tenon.tag")
    compounds = list(ElementTree.parse(path).getroot().iter("compound"))
    spaces = {part.findtext("name") for part in compounds if part.get("kind") == "namespace"}
    for part in compounds:
        name = part.findtext("name")
        if part.get("kind") in ("class", "struct", "concept"):
            found[name] = part.findtext("filename")
        if part.get("kind") == "file" and "/include/tenon/" in part.findtext("path"):
            header = part.findtext("path").rsplit("/include/", 1)[1] + name
            found[header] = found[f"<{header}>"] = found[header.removeprefix("tenon/")] = part.findtext("filename")
        for member in part.findall("member"):
            if name in spaces and member.get("kind") != "enumvalue":
                address = f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
                found.setdefault(f"{name}::{member.findtext('name')}", address)
    for name in list(found):  # the docstring of an operator's function is that of its struct: relu, Relu
        operator = re.fullmatch(r"tenon::ops::(\w+)", name)
        if operator and operator[1] != "CustomGradient":
            word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operator[1]).lower()
            if word != operator[1]:
                found[f"tenon::ops::{word}"] = found[name]
    for name in found:
        space, _, word = name.rpartition("::")
        named[name].add(name)
        named[name.removeprefix("tenon::")].add(name)
        if space in spaces:
            named[word].add(name)
            if space not in ("tenon", "tenon::ops") and not re.search("[A-Z_]", word):
                named[word].add("")  # too common a word


def on_page_content(html, page, **_):
    root = "../" * page.url.count("/")
    html = re.sub(r"<td.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.S)

    def link(match):
        if match["kept"] or not re.fullmatch(r"([<({]((?!: ).)*[>)}])?", unescape(match["rest"])):
            return match[0]
        name, (head, header) = unescape(match["name"]), place(match.start())
        space = header[1] if header else PAGES.get(page.url.removesuffix(".html"))
        names = {f"tenon::{space}::{name}"} & found.keys() or named.get(name, ())
        if len(names) != 1 or re.search("^(?!.*Tenon).*(PyTorch|MindSpore|Keras)", head):
            return match[0]
        return f'<a href="{root}api/{found[min(names)]}">{match[0]}</a>'

    def place(at):
        """In a table: the head of the column, and the header that the row names."""
        row = html.rfind("<tr>", 0, at)
        column = html.count("<td", row, at)
        if row <= html.rfind("</tr>", 0, at) or not column:
            return "", None
        heads = re.findall(r"<th\b.*?</th>", html[html.rfind("<table>", 0, at) : at], flags=re.S)
        header = re.search(r"<code>(\w+)/[\w/]+\.hpp</code>", html[row : html.find("</tr>", at)])
        return heads[column - 1], header

    kept = r"(?P<kept><pre\b.*?</pre>|<a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>)"
    code = r"<code>(?P<name>(?:&lt;)?\w[\w/]*\.hpp(?:&gt;)?|[A-Za-z][\w:]*)(?P<rest>[^<]*)</code>"
    linked = re.sub(f"{kept}|{code}", link, html, flags=re.S)
    return re.sub(r"<code>([^\s<]{1,50})</code>", r'<code class="word">\1</code>', linked)
