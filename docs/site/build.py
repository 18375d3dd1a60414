#!/usr/bin/env python3
"""The documentation as a web site with search: the pages by MkDocs, the docstrings by Doxygen.

    python3 docs/site/build.py FOLDER      then open FOLDER/site/index.html, or serve FOLDER/site

Needs mkdocs with mkdocs-material, and doxygen with doxygen-awesome-css. Stops at a warning of MkDocs, and at a link
whose page or heading does not exist. The pages keep their text; this script gathers them, makes the menu of the tables
in docs/README.md, a page of each lesson, links of the files that pages name, and weights of pages in the search.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
ELSEWHERE = ("benchmarks/README.md", "tests/seeds/README.md")
WEIGHTS = (  # of pages in the search; 0: not found there; other pages 1
    ("tests/|CHANGELOG", 0),
    ("docs/(training|errors|migrating|profiler|lengths|gradients|data|custom_operators)\\.", 2),
    ("docs/contributing/|docs/practices|docs/index|benchmarks/|CONTRIBUTING|SECURITY", 0.3),
    ("examples/|docs/(operators|architecture)", 0.6),
)
GUIDE = ' · <a href="$relpath^../index.html">Guide</a>'
THEME = "/usr/share/doxygen-awesome-css/doxygen-awesome.css"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def lessons():
    """The path of each lesson, and its page: its first comment line as the heading, then the program."""
    for name in sorted(os.listdir(os.path.join(ROOT, "examples"))):
        path = f"examples/{name}"
        if re.fullmatch(r"\d\d_\w+\.cpp", name):
            text = read(path)
            comment = " ".join(re.match(r"(?://.*\n)+", text)[0].replace("//", " ").split())
            title = re.match(r"(Lesson \d+: .*?)(?:[.:;](?:\s|$)|$)", comment)[1]
            yield path, f"# {title}\n\n`{path}`\n\n```cpp\n{text}```\n"


def linked(text, page, pages, titles):
    """The text of a page with links of the files that it names, with links of lessons to their pages, and with titles
    of pages in place of their files' names. `pages` maps files to pages."""
    folder = os.path.dirname(page)

    def to(file):
        return os.path.relpath(pages[file], folder or ".")

    def link(match):
        words, target, anchor = match[1] or "", match[2], match[3] or ""
        file = os.path.normpath(os.path.join(folder, target))
        if file not in pages:
            return match[0]
        words = titles[pages[file]] if re.fullmatch(r"\[`?[\w/.]+\.md`?", words) else words[1:]
        return f"{'[' if match[1] else ''}{words}]({to(file)}{anchor})"

    def name(match):
        if match[1] not in pages or pages[match[1]] == page:
            return match[0]
        words = titles[match[1]] if match[1] in titles else f"`{match[1]}`"
        return f"[{words}]({to(match[1])})"

    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.M | re.S)  # blocks of code stay as they are
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(\[[^\[\]]*)?\]\(([^):#]+)(#[^)]*)?\)", link, parts[i])
        parts[i] = re.sub(r"(?<!\[)`((?:examples|benchmarks|tests|docs)/[\w/.]+)`(?!\])", name, parts[i])
    return "".join(parts)


def menu(pages):
    """The menu: the sections and pages of docs/README.md, as lines of YAML."""
    lines, listed = ["  - Start: README.md"], {"README.md"}
    add = lambda page: (lines.append(f"    - {page}"), listed.add(page))
    for section in re.split(r"^## ", read("docs/README.md"), flags=re.M)[1:]:
        title, text = section.split("\n", 1)
        lines.append(f"  - {title}:")
        for target in re.findall(r"^\| \[.*?\]\(([^)]+)\)", text, flags=re.M):
            page = os.path.normpath(os.path.join("docs", target))
            if page not in listed:
                add(page)
        if title == "Contribute":
            for page in sorted(page for page in pages if page.startswith("docs/contributing/")):
                add(page)
    lines.append("  - Lessons:")
    for page in sorted(page for page in pages if page.startswith("examples/")):
        add(page)
    lines.append("  - Reference:")
    lines.append("    - Headers and docstrings: api/index.html")
    lines.append("  - More:")
    for page in sorted(set(pages) - listed):
        add(page)
    return lines


def gather(folder):
    """Writes the pages and MkDocs' settings into the folder."""
    pages = {page: page for page in (*TOP, *ELSEWHERE)}
    for place in ("docs", "docs/contributing"):
        for name in sorted(os.listdir(os.path.join(ROOT, place))):
            if name.endswith(".md"):
                pages[f"{place}/{name}"] = f"{place}/{name}"
    texts = {page: read(page) for page in pages}
    for path, text in lessons():
        pages[path] = path[: -len(".cpp")] + ".md"
        texts[pages[path]] = text
    titles = {page: re.search(r"^# ([^:\n]*)", text, flags=re.M)[1] for page, text in texts.items()}
    titles = {page: title for page, title in titles.items() if not page.startswith("examples/")}
    for page, text in texts.items():
        text = linked(text, page, pages, titles)
        write(f"{folder}/pages/{page}", text)
        for target in re.findall(r"\]\(([^):#]+)", text):  # files that are no pages
            file = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if file not in texts and os.path.isfile(os.path.join(ROOT, file)):
                write(f"{folder}/pages/{file}", read(file))
    settings = read("docs/site/mkdocs.yml") + "nav:\n" + "\n".join(menu(texts)) + "\n"
    write(f"{folder}/mkdocs.yml", settings)
    shutil.copytree(f"{HERE}/theme", f"{folder}/theme", dirs_exist_ok=True)
    shutil.copy(f"{HERE}/names.py", folder)


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def weigh(site):
    """Gives the parts of pages in the index of the search their weights, and the worker that searches the use of them;
    this version of mkdocs-material has none of its own."""
    index = f"{site}/search/search_index.json"
    with open(index, encoding="utf-8") as file:
        found = json.load(file)
    for part in found["docs"]:
        part["boost"] = next((weight for start, weight in WEIGHTS if re.match(start, part["location"])), 1)
    found["docs"] = [part for part in found["docs"] if part["boost"]]
    write(index, json.dumps(found, ensure_ascii=False, separators=(",", ":")))
    (worker,) = glob.glob(f"{site}/assets/javascripts/workers/search.*.js")
    with open(worker, "a", encoding="utf-8") as file:
        file.write("\n" + read("docs/site/search.js"))


def run_doxygen(folder):
    run(["doxygen", "-w", "html", "api.html", "footer.html", "style.css"], cwd=folder)
    with open(f"{folder}/api.html", encoding="utf-8") as file:
        head = file.read().replace("</head>", f"<script>\n{read('docs/site/api.js')}</script>\n</head>", 1)
    write(f"{folder}/api.html", head.replace("$projectbrief<", f"$projectbrief{GUIDE}<"))
    settings = read("docs/site/Doxyfile") + (
        f"INPUT = {HERE}/namespaces.dox include/tenon\nOUTPUT_DIRECTORY = {folder}/pages\n"
        f'GENERATE_TAGFILE = {folder}/tenon.tag\nINPUT_FILTER = "python3 {HERE}/docstrings.py"\n'
        f"HTML_HEADER = {folder}/api.html\nHTML_EXTRA_STYLESHEET = {THEME} {HERE}/api.css\n"
    )
    run(["doxygen", "-"], input=settings, cwd=ROOT)


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        self.ids.update(facts[key] for key in ("id", "name") if facts.get(key))
        if tag == "a" and facts.get("href"):
            self.links.append(facts["href"])


def broken(site):
    """Links whose page or heading is not there. Doxygen answers for its own."""
    known = {}
    for folder, _, names in os.walk(site):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".html") and not path.startswith(f"{site}/api/"):
                with open(path, encoding="utf-8") as file:
                    known[path] = Links(file.read())
    for path, page in known.items():
        for link in page.links:
            if re.match(r"[a-z]+:|/|\.$", link) or path.endswith("/404.html"):
                continue
            target, _, anchor = unquote(link).partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if os.path.isdir(file):
                file += "/index.html"
            there = os.path.exists(file)
            if not there or (anchor and file in known and anchor not in known[file].ids):
                yield f"{os.path.relpath(path, site)}: {link}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = os.path.abspath(parser.parse_args().folder)
    for program in ("mkdocs", "doxygen"):
        if not shutil.which(program):
            sys.exit(f"There is no {program}: apt-get install mkdocs mkdocs-material doxygen doxygen-awesome-css")
    for part in ("pages", "site"):
        shutil.rmtree(f"{folder}/{part}", ignore_errors=True)
    gather(folder)
    run_doxygen(folder)
    run(["mkdocs", "build", "--strict", "--config-file", f"{folder}/mkdocs.yml"])
    weigh(f"{folder}/site")
    found = sorted(broken(f"{folder}/site"))
    if found:
        sys.exit("Links that lead nowhere:\n" + "\n".join(found))
    print(f"{folder}/site/index.html")


if __name__ == "__main__":
    main()
