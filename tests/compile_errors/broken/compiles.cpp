// posenc: a sentence that nobody says
int main() {}
