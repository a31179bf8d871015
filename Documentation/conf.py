# SPDX-License-Identifier: GPL-2.0
"""
make html: Sphinx over these pages, a warning being an error. The pages name each other
by their file, to be read as text; here that becomes a link, and a page that is not
there a warning.
"""

import re

from docutils import nodes
from sphinx.util import logging

project = "kvnet"
author = copyright = "the authors of kvnet"	# pylint: disable=redefined-builtin
root_doc = "index"
exclude_patterns = ["netlink"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "body_max_width": "auto", "code_font_size": "0.8em", "description": "in-kernel virtio-net backend", "show_powered_by": False}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_show_copyright = False
smartquotes = False
nitpicky = True
highlight_language = "none"

PAGE = re.compile(r"\b(?:Documentation/)?([A-Za-z-]+)\.rst\b")


def linked(app, here, text, make):
    """The text as nodes; what names a page is a link to it."""
    found, at = [], 0
    for match in PAGE.finditer(text):
        page = match[1]
        if page not in app.env.found_docs:
            logging.getLogger(__name__).warning("there is no page %s.rst", page, location=here)
            continue
        if page == here:
            continue
        link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(here, page))
        link += make(match[0])
        found += [make(text[at:match.start()])] * (match.start() > at) + [link]
        at = match.end()
    return found + [make(text[at:])] * (at < len(text)) if found else []


def link_pages(app, doctree, here):
    for node in list(doctree.findall(nodes.Text)):
        above = node.parent
        if isinstance(above, (nodes.literal_block, nodes.comment, nodes.reference, nodes.title)):
            continue
        # of ``page.rst`` the literal is what becomes a link
        literal = isinstance(above, nodes.literal)
        make = (lambda text: nodes.literal("", text)) if literal else nodes.Text
        found = linked(app, here, node.astext(), make)
        if found:
            old = above if literal else node
            old.parent.replace(old, found)


def setup(app):
    app.connect("doctree-resolved", link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
