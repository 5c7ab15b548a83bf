namespace posenc {
}
