#include "gpuadm/commands/run.hpp"

int main(int argc, char** argv) {
  return commands::run(argc, argv);
}
