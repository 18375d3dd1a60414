// Lesson 20: regression on a CSV file: prices of flats from numbers and a name.
#include <cstdio>
#include <span>
#include <string>

#include <tenon/dataset/operations.hpp>
#include <tenon/dataset/source/csv.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using dataset::any, dataset::as, dataset::Column, dataset::Columns, dataset::Inputs, dataset::Ragged;

struct Net : nn::Cell<Net> {
  nn::Dense<6, 32> hidden;
  nn::Dense<32, 1> output;
  constexpr auto construct(auto x) const { return output(relu(hidden(x))); }
};

static void write_file(const char* path) {
  std::string text = "area,rooms,age,city,price\n";
  const char* const cities[]{"Lima", "Oslo", "Rome"};
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    const int area = 40 + int(random.below(160)), rooms = 1 + int(random.below(6)), age = int(random.below(80));
    const int city = int(random.below(3));
    const float price = 2 * float(area) + 10 * float(rooms) - 0.8f * float(age) + 50 * float(city);
    text += std::to_string(area) + "," + std::to_string(rooms) + "," + std::to_string(age) + "," + cities[city] + "," +
            std::to_string(price + random.uniform(-10, 10)) + "\n";
  }
  io::write_file(path, text);
}

int main() {
  set_context({.seed = 1});
  write_file("flats.csv");
  // Three fields in succession form one column, from "area" on.
  const dataset::Csv file{
      "flats.csv",
      as<Column<float, Shape<3>, "area">, Column<std::uint8_t, Ragged<any>, "city">, Column<float, Shape<1>, "price">>};
  // Numbers near 1, and a name as one of three: what a network learns well from.
  const auto rows = file | dataset::map<Inputs<"area", "city", "price">,
                                        Columns<Column<float, Shape<6>, "flat">, Column<float, Shape<1>, "price">>>(
                               [](auto in, auto city, auto price, std::span<float> flat, std::span<float> label) {
                                 flat[0] = in[0] / 100, flat[1] = in[1] / 3, flat[2] = in[2] / 40;
                                 flat[3] = city.text() == "Lima", flat[4] = city.text() == "Oslo",
                                 flat[5] = city.text() == "Rome";
                                 label[0] = price[0] / 100;
                               });
  const auto [train, test] = dataset::split(rows, {0.8, 0.2});

  Net net;
  Model model{net, nn::MSELoss{}, nn::Adam{.learning_rate = 3e-3f}, nn::MAE{nn::Division::per_element}};
  model.train(60, train | dataset::shuffle(480) | dataset::batch(32), LossMonitor{300});
  const double error = 100 * model.eval(test | dataset::batch(40))["mae"];
  std::printf("mean absolute error of new prices: %.1f, of which 5 are noise\n", error);
  return error < 8 ? 0 : 1;
}
