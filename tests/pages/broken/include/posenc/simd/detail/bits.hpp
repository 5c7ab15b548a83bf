// What is inside is read as well.
int y;
