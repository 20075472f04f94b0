"""MkDocs calls these while it builds."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shim
import stage

LOGO = re.compile(r'href="([./]+)" title="tarn"')
MEMBER = re.compile(r"^(#+ tarn::(?:\w+::)+)([^:`\n]+)$", re.MULTILINE)


def on_page_markdown(markdown, page, config, files):
    """In the table of contents, a class' member is called by its own name: with the class it wouldn't fit."""
    if not page.file.src_uri.startswith("docs/reference/"):
        return markdown
    return MEMBER.sub(lambda found: f'{found[0]} {{: data-toc-label="{found[2]}" }}', markdown)


def on_post_page(output, page, config):
    """The theme loads nothing from elsewhere, and its logo leads to a page: a folder is a listing without a server."""
    output = LOGO.sub(lambda found: f'href="{found[1].rstrip("/")}/index.html" title="tarn"', output)
    return output.replace(shim.LOADED_FROM, "../" * page.url.count("/") + "site/iframe-worker.js")


MOVED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tarn</title>
<meta http-equiv="refresh" content="0; url={0}">
<a href="{0}">This page has moved.</a>
</html>
"""


def on_post_build(config):
    """A page that has become part of another leads there."""
    for old, new in stage.redirects().items():
        page, mark, anchor = new.partition("#")
        page = page[:-len(".md")].replace("/README", "/index") + ".html"  # as MkDocs does
        there = os.path.relpath(page, os.path.dirname(old)) + mark + anchor
        stage.write(config["site_dir"], old[:-len(".md")] + ".html", MOVED.format(there))


def on_post_template(output_content, template_name, config):
    return output_content.replace(shim.LOADED_FROM, "/site/iframe-worker.js")
