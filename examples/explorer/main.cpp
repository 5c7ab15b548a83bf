// The explorer's answers without a browser: settings as JSON, one line each, from the standard
// input, with GGUF files from the working directory; the answers, with the titles and names of
// their charts alone, to the standard output.
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "explorer.hpp"

void explorer::refuse(std::string const& sentence) { throw std::invalid_argument(sentence); }

int main() {
  for (std::string settings; std::getline(std::cin, settings);) {
    try {
      auto const given = nlohmann::json::parse(settings, nullptr, false);
      std::ifstream in(given.is_object() ? given.value("gguf", "") : "", std::ios::binary);
      std::string const file(std::istreambuf_iterator<char>(in), {});
      auto answer = nlohmann::json::parse(
          explorer::answer(settings, std::as_bytes(std::span(file.data(), file.size()))));
      auto const charts = std::exchange(answer["charts"], nlohmann::json::array());
      for (auto const& chart : charts) {
        auto& names = answer["charts"].emplace_back(nlohmann::json::array({chart["title"]}));
        for (auto const& curve : chart["curves"]) names.push_back(curve["name"]);
      }
      std::cout << answer.dump() << '\n';
    } catch (std::invalid_argument const& error) {
      std::cout << nlohmann::json{{"error", explorer::plain(error.what())}}.dump() << '\n';
    }
  }
}
