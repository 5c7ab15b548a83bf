// posenc: a sentence that is not this
static_assert(sizeof(int) == 0, "posenc: another sentence");
