#!/usr/bin/env python3
"""Writes a real document for the clients: all characters that Unicode gives a name of their own, as JSON of some 3 MB.

    unicode_document.py JSON TABLE

The characters come from Python's own tables, so nothing is fetched. TABLE holds the same characters as lines of
code, category and name, divided by tabs.
"""

import json
import sys
import unicodedata

# Their names are made from their codes: 110,000 of them would say nothing more.
DERIVED = ("CJK UNIFIED IDEOGRAPH-", "CJK COMPATIBILITY IDEOGRAPH-", "HANGUL SYLLABLE ", "TANGUT IDEOGRAPH-",
           "NUSHU CHARACTER-", "KHITAN SMALL SCRIPT CHARACTER-")


def character(code):
    """What Unicode says of a character, or None where it has no name of its own."""
    char = chr(code)
    name = unicodedata.name(char, "")
    if not name or name.startswith(DERIVED):
        return None
    entry = {"code": code, "char": char, "name": name, "category": unicodedata.category(char)}
    if unicodedata.bidirectional(char):
        entry["bidirectional"] = unicodedata.bidirectional(char)
    if unicodedata.decomposition(char):
        entry["decomposition"] = unicodedata.decomposition(char).split(" ")
    numeric = unicodedata.numeric(char, None)
    if numeric is not None:
        entry["numeric"] = numeric
    if unicodedata.mirrored(char):
        entry["mirrored"] = True
    return entry


def main():
    to_json, to_table = sys.argv[1:]
    characters = [entry for entry in map(character, range(sys.maxunicode + 1)) if entry]
    words, categories = {}, {}
    for entry in characters:
        categories.setdefault(entry["category"], []).append(entry["code"])
        for word in entry["name"].split(" "):
            words[word] = words.get(word, 0) + 1
    document = {"unicode": unicodedata.unidata_version, "characters": characters, "categories": categories, "words": words}
    with open(to_json, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    with open(to_table, "w", encoding="utf-8") as file:
        for entry in characters:
            print(entry["code"], entry["category"], entry["name"], sep="\t", file=file)


if __name__ == "__main__":
    main()
