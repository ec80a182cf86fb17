#pragma once
#include <span>
#include <string>

double widest(std::span<const std::string> labels);
