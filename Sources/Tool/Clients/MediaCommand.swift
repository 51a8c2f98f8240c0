// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Arguments
import Control

/// What `media` is told.
struct MediaOptions: Sendable {
  var client = ClientOptions()
  var command: RemoteCommand?
}

extension Clients {
  /// `ancsd media`: what plays, or a command for it.
  static let media = ClientCommand(
    "media", "what plays on the phone; with a command: does it",
    grammar: Grammar(Grammar.clientOptions(\MediaOptions.client), operands: "[COMMAND]") {
      options, operands throws(Failure) in
      guard let name = operands.first else { return }
      guard operands.count == 1 else {
        throw Failure(.usage, operands[1], "nothing is expected there")
      }
      options.command = RemoteCommand(name: name)
      guard options.command == nil else { return }
      let near = nearest(to: name, among: RemoteCommand.names)
      throw Failure(
        .usage, name, "no command for media", remedy: near.map { "did you mean \($0)?" })
    }, defaults: MediaOptions(), client: \.client,
    notes: ["Commands: \(RemoteCommand.names.joined(separator: ", "))."]
  ) { options, client throws(Failure) in
    let phone = options.client.phone
    if let command = options.command {
      try await client.call(
        ControlMethods.sendMediaCommand, MediaParameters(command, phone: phone),
        "media \(command.name ?? "")")
    } else {
      let state = try await client.call(
        ControlMethods.getMedia, PhoneParameters(phone: phone), "media")
      try client.console.show(state) { state.text($0) }
    }
    return .done
  }
}
