# SPDX-License-Identifier: Apache-2.0
# nix-build packaging/nix && result/bin/steelyard run
# tests/integration/test_packaging.py holds version and dependencies to those of pyproject.toml.
{ pkgs ? import <nixpkgs> { } }:

pkgs.python3Packages.buildPythonApplication {
  pname = "steelyard";
  version = "0.1.0";
  pyproject = true;
  src = pkgs.lib.cleanSource ../..;

  build-system = [ pkgs.python3Packages.scikit-build-core ];
  nativeBuildInputs = [
    pkgs.cmake
    pkgs.ninja
    pkgs.cargo
    pkgs.rustc
    pkgs.go
  ];
  # The header of nlohmann's JSON is a package of PyPI elsewhere and of C++ here.
  buildInputs = [ pkgs.nlohmann_json ];
  pypaBuildFlags = [ "--skip-dependency-check" ];
  # scikit-build-core calls CMake itself.
  dontUseCmakeConfigure = true;

  dependencies = with pkgs.python3Packages; [
    altair
    cyclopts
    duckdb
    msgspec
    numpy
    psutil
    rich
    scipy
    vl-convert-python
  ];

  pythonImportsCheck = [ "steelyard" ];

  meta = {
    description = "Weighs what it costs to run and to connect work on a computer, and says how sure it is";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "steelyard";
    platforms = pkgs.lib.platforms.linux;
  };
}
