// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The attribute types of the generic profiles (Assigned Numbers, 3.4–3.8; Vol 3 Part G, 3.4).
public enum GATTType {
  public static let primaryService: UUID = 0x2800
  public static let secondaryService: UUID = 0x2801
  public static let include: UUID = 0x2802
  public static let characteristic: UUID = 0x2803
  public static let extendedProperties: UUID = 0x2900
  public static let userDescription: UUID = 0x2901
  public static let clientConfiguration: UUID = 0x2902
  public static let serverConfiguration: UUID = 0x2903
  public static let presentationFormat: UUID = 0x2904
  public static let aggregateFormat: UUID = 0x2905

  public static let genericAccess: UUID = 0x1800
  public static let deviceName: UUID = 0x2A00
  public static let appearance: UUID = 0x2A01
  public static let preferredConnectionParameters: UUID = 0x2A04
  public static let centralAddressResolution: UUID = 0x2AA6

  public static let genericAttribute: UUID = 0x1801
  public static let serviceChanged: UUID = 0x2A05
  public static let clientSupportedFeatures: UUID = 0x2B29
  public static let databaseHash: UUID = 0x2B2A
  public static let serverSupportedFeatures: UUID = 0x2B3A

  public static let deviceInformation: UUID = 0x180A
  public static let manufacturerName: UUID = 0x2A29
  public static let modelNumber: UUID = 0x2A24
  public static let firmwareRevision: UUID = 0x2A26
  public static let softwareRevision: UUID = 0x2A28
  public static let pnpID: UUID = 0x2A50
}
