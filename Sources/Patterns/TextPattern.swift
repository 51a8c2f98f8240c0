// SPDX-License-Identifier: GPL-3.0-or-later
import CPCRE2
import Synchronization

/// A regular expression of PCRE2 (pcre2pattern(3)), which may match anywhere in a text. Case does not matter, and
/// letters, digits and words are Unicode's. `.` is any character, also a line's end, and `$` only the end of the text,
/// as in the POSIX expressions that came before.
///
/// Whoever writes the settings chooses the expression, and whoever sends a message the text. What compiling and
/// matching take is bounded for any of them.
public struct TextPattern: Hashable, Sendable {
  /// The expression.
  public let source: String
  private let compiled: Compiled

  /// Why a text is no regular expression, and where.
  public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// Whether the expression has a match takes more than `steps` or `heap` allow.
  public struct LimitReached: Error {}

  /// Bytes of an expression.
  package static let length = 4096
  /// Groups within groups.
  static let depth = 100
  /// Bytes that are allocated in one piece to compile an expression, and so of what it is compiled to.
  static let size = 1 << 17
  /// Parts of the expression that are tried, and bytes of the text that are passed over, in one search.
  static let steps = 1_000_000
  /// KiB for the places to which a search may return.
  static let heap: UInt32 = 1024

  /// A compiled expression. Searching does not change it, which the compiler can't see: hence the lock, for which
  /// nobody waits.
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
    // It refuses to allocate more than `size` at once. PCRE2 allocates a handful of pieces for each expression.
    let memory = pcre2_general_context_create_8(
      { count, _ in
        count <= TextPattern.size
          ? .allocate(byteCount: count, alignment: MemoryLayout<Int>.alignment) : nil
      }, { piece, _ in piece?.deallocate() }, nil)
    let context = pcre2_compile_context_create_8(memory)
    pcre2_set_max_pattern_length_8(context, length)
    pcre2_set_parens_nest_limit_8(context, UInt32(depth))
    // The callouts are what `search` counts.
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

  /// How far a search has come.
  private struct Search {
    var position = 0
    var steps = 0
  }

  /// Whether the text has a match.
  public func matches(_ text: String) throws(LimitReached) -> Bool {
    let result = compiled.code.withLock { Self.search(text, for: $0) }
    guard result >= 0 || result == PCRE2_ERROR_NOMATCH else { throw LimitReached() }
    return result >= 0
  }

  /// PCRE2's own limit of steps starts over at each place of the text, and leaves out characters that are passed over:
  /// `code.*[0-9]{6}` in a text of 64 KiB took seconds. So they are counted here, before each part of the expression.
  private static func search(_ text: String, for code: OpaquePointer) -> Int32 {
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
      let bytes = Array(text.utf8)
      return pcre2_match_8(code, bytes, bytes.count, 0, 0, data, context)
    }
  }

  public static func == (one: TextPattern, other: TextPattern) -> Bool {
    one.source == other.source
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

extension TextPattern.SyntaxError {
  /// - Parameters:
  ///   - failure: PCRE2's number for it.
  ///   - read: what is before its place.
  fileprivate init(_ failure: Int32, behind read: ArraySlice<UInt8>) {
    switch failure {
    case PCRE2_ERROR_PATTERN_STRING_TOO_LONG:
      description = "it has more than \(TextPattern.length) bytes"
    case PCRE2_ERROR_PATTERN_TOO_LARGE, PCRE2_ERROR_HEAP_FAILED:
      description = "it is too large: repeat less, or have fewer alternatives"
    default:
      var text = [UInt8](repeating: 0, count: 256)
      let length = Int(pcre2_get_error_message_8(failure, &text, text.count))
      let reason = String(decoding: text.prefix(max(length, 0)), as: UTF8.self)
      let place = max(1, String(decoding: read, as: UTF8.self).unicodeScalars.count)
      description = "\(reason), at its character \(place)"
    }
  }
}
