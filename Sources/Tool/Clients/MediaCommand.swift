// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Daemon
import JSON

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
    if let command = options.command {
      let request = ControlRequest.command(command, phone: options.client.phone)
      _ = try await client.call(request, "media \(command.name ?? "")")
      return .done
    }
    let report = try await client.fetch(
      .getMedia(phone: options.client.phone), "media", MediaReport.init(json:))
    switch client.console.usualFormat {
    case .json: try client.console.print(line: report.json.text)
    case .text: try client.console.print(line: report.text(client.console.style))
    }
    return .done
  }
}
