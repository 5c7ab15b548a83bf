// posenc: a sentence
static_assert(sizeof(int) == 0, "something else first");
static_assert(sizeof(int) == 0, "posenc: a sentence");
