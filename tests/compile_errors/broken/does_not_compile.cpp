// compiles
int main() { return not_declared; }
