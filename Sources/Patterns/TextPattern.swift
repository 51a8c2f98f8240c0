// SPDX-License-Identifier: GPL-3.0-or-later
import CPCRE2
import Synchronization

/// A PCRE2 regular expression (pcre2pattern(3)), which may match anywhere in a text. Matching ignores case; letters,
/// digits and words are Unicode's. `.` matches any character including a newline, and `$` only the end of the text, as
/// in the POSIX expressions of earlier versions.
///
/// The author of the settings chooses the expression, and the sender of a message the text. Compiling and matching
/// have bounded time and memory for all of them.
public struct TextPattern: Hashable, Sendable {
  /// The expression.
  public let source: String
  private let compiled: Compiled

  /// Why a text is not a valid regular expression, and where.
  public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// Matching exceeded `steps` or `heap`.
  public struct LimitReached: Error {}

  /// The maximum length of an expression in bytes.
  package static let length = 4096
  /// The maximum nesting of groups.
  static let depth = 100
  /// The maximum size in bytes of one allocation while compiling, and thus of the compiled expression.
  static let size = 1 << 17
  /// The maximum number of steps in one search: parts of the expression that are tried, and bytes of the text that are
  /// skipped.
  static let steps = 1_000_000
  /// The maximum memory for backtracking in KiB.
  static let heap: UInt32 = 1024

  /// A compiled expression. Searching does not change it, but the compiler can't know that; hence the lock, which is
  /// never contended.
  private final class Compiled: Sendable {
    let code: Mutex<OpaquePointer>

    init(_ code: sending OpaquePointer) { self.code = Mutex(code) }

    deinit { code.withLock { pcre2_code_free_8($0) } }
  }

  /// Compiles an expression.
  public init(_ source: String) throws(SyntaxError) {
    self.source = source
    compiled = Compiled(try Self.compile(source))
  }

  private static func compile(_ source: String) throws(SyntaxError) -> sending OpaquePointer {
    // It refuses to allocate more than `size` at once. PCRE2 makes a handful of allocations per expression.
    let memory = pcre2_general_context_create_8(
      { count, _ in
        count <= TextPattern.size ? .allocate(byteCount: count, alignment: MemoryLayout<Int>.alignment) : nil
      }, { piece, _ in piece?.deallocate() }, nil)
    let context = pcre2_compile_context_create_8(memory)
    pcre2_set_max_pattern_length_8(context, length)
    pcre2_set_parens_nest_limit_8(context, UInt32(depth))
    // `search` counts the callouts.
    let options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_CASELESS | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY
      | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT
    var failure: Int32 = 0
    var offset = 0
    let bytes = Array(source.utf8)
    let code = pcre2_compile_8(bytes, bytes.count, options, &failure, &offset, context)
    pcre2_compile_context_free_8(context)
    pcre2_general_context_free_8(memory)
    guard let code else { throw SyntaxError(failure, behind: bytes.prefix(offset)) }
    return code
  }

  /// The progress of a search.
  private struct Search {
    var position = 0
    var steps = 0
  }

  /// Whether the text has a match.
  public func matches(_ text: String) throws(LimitReached) -> Bool {
    try firstMatch(in: Array(text.utf8)) != nil
  }

  /// The first match in a text of UTF-8 from an offset on.
  public func firstMatch(in text: [UInt8], from start: Int = 0) throws(LimitReached) -> Range<Int>? {
    let (result, match) = compiled.code.withLock { Self.search(text, from: start, for: $0) }
    guard result >= 0 || result == PCRE2_ERROR_NOMATCH else { throw LimitReached() }
    return match
  }

  /// PCRE2's own step limit restarts at each position of the text, and does not count skipped characters:
  /// `code.*[0-9]{6}` took seconds in a text of 64 KiB. So steps are counted here, before each part of the expression.
  private static func search(
    _ text: [UInt8], from start: Int, for code: OpaquePointer
  ) -> (result: Int32, match: Range<Int>?) {
    var search = Search()
    return withUnsafeMutablePointer(to: &search) { search in
      let context = pcre2_match_context_create_8(nil)
      let data = pcre2_match_data_create_8(1, nil)
      defer {
        pcre2_match_data_free_8(data)
        pcre2_match_context_free_8(context)
      }
      pcre2_set_heap_limit_8(context, heap)
      pcre2_set_callout_8(
        context,
        { block, search in
          guard let block, let search = search?.assumingMemoryBound(to: Search.self) else {
            return 0
          }
          let position = block.pointee.current_position
          search.pointee.steps += 1 + abs(position - search.pointee.position)
          search.pointee.position = position
          return search.pointee.steps > TextPattern.steps ? PCRE2_ERROR_MATCHLIMIT : 0
        }, search)
      let result = pcre2_match_8(code, text, text.count, start, 0, data, context)
      guard result >= 0, let ends = pcre2_get_ovector_pointer_8(data) else { return (result, nil) }
      // `\K` in a group that a look-ahead calls puts the start behind the end.
      return (result, min(ends[0], ends[1])..<ends[1])
    }
  }

  public static func == (one: TextPattern, other: TextPattern) -> Bool {
    one.source == other.source
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

extension TextPattern.SyntaxError {
  /// - Parameters:
  ///   - failure: PCRE2's error number.
  ///   - read: the text before the error.
  fileprivate init(_ failure: Int32, behind read: ArraySlice<UInt8>) {
    switch failure {
    case PCRE2_ERROR_PATTERN_STRING_TOO_LONG:
      description = "it has more than \(TextPattern.length) bytes"
    case PCRE2_ERROR_PATTERN_TOO_LARGE, PCRE2_ERROR_HEAP_FAILED:
      description = "it is too large: use fewer repetitions or alternatives"
    default:
      var text = [UInt8](repeating: 0, count: 256)
      let length = Int(pcre2_get_error_message_8(failure, &text, text.count))
      let reason = String(decoding: text.prefix(max(length, 0)), as: UTF8.self)
      let place = max(1, String(decoding: read, as: UTF8.self).unicodeScalars.count)
      description = "\(reason), at character \(place)"
    }
  }
}
