// The explorer's answers without a browser: settings as JSON, one line each, from the standard
// input; the answers, without figures, to the standard output.
#include <iostream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "explorer.hpp"

void explorer::refuse(std::string const& sentence) { throw std::invalid_argument(sentence); }

int main() {
  for (std::string settings; std::getline(std::cin, settings);) {
    try {
      auto answer = nlohmann::json::parse(explorer::answer(settings));
      answer.erase("figures");
      std::cout << answer.dump() << '\n';
    } catch (std::invalid_argument const& error) {
      std::cout << nlohmann::json{{"error", error.what()}}.dump() << '\n';
    }
  }
}
