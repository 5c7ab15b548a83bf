# What Doxygen's pages lack for screen readers: titles as headings, above those of the text; names of
# the search field and of pictures in links.
s|<div class="title">|<div class="title" role="heading" aria-level="1">|
s|<h1><a class="anchor"|<h1 aria-level="2"><a class="anchor"|
s|<h2><a class="anchor"|<h2 aria-level="3"><a class="anchor"|
s|<h3><a class="anchor"|<h3 aria-level="4"><a class="anchor"|
s|<h3><a id="index_|<h3 aria-level="1"><a id="index_|
s|<h2 class="memtitle">|<h2 class="memtitle" aria-level="3">|
s|<input type="text" id="MSearchField"|& aria-label="Search"|
s|search/close.svg" alt=""|search/close.svg" alt="Close the search"|
s|sync_on.png"|& alt="Link with contents"|
s|sync_off.png"|& alt="Link with contents"|
s|(<a href="[^"]*")(><span class="icondoc">)|\1 aria-label="Source"\2|g
