TEST_CASE(
    "b c") {
}
TEST_CASE("new") {}
