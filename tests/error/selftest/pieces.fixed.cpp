// The cure of pieces.cpp.
int main() {}
