// SPDX-License-Identifier: GPL-3.0-or-later
import FuzzTargets
import Glibc

/// libFuzzer's main, for programs that have one of their own
/// (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ play: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The target that is played.
nonisolated(unsafe) private var target: FuzzTarget?

///     Fuzzer                       prints the targets, each with the length of its longest input
///     Fuzzer TARGET [OPTIONS]      plays one, with libFuzzer's options
@main struct Fuzzer {
  static func main() {
    guard CommandLine.argc > 1 else {
      for target in FuzzTarget.all { print(target.name, target.longest) }
      return
    }
    target = FuzzTarget.all.first { $0.name == CommandLine.arguments[1] }
    guard target != nil else { fatalError("there is no target “\(CommandLine.arguments[1])”") }
    // The rest is libFuzzer's.
    var count = CommandLine.argc - 1
    var arguments = CommandLine.unsafeArgv + 1
    exit(runFuzzer(&count, &arguments) { bytes, count in Fuzzer.play(bytes, count) })
  }

  private static func play(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
      try target?.play(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch { fatalError("\(error)") }
    return 0
  }
}
