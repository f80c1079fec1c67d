"""Every message that travels between nodes or lies in an internal log: the schema text, and the frames around it.

The text is the one place where versions differ. text.py explains its form; the names are those of Apache Kafka's own
message definitions, so that a search for a field finds its KIP. APIs name the lowest and highest version that Apache
Kafka 4.3 has; a broker may serve fewer.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .primitives import DecodeError, read_unsigned_varint, string_reader, string_writer
from .schema import NO_TAGGED_FIELDS, Message, Schema
from .text import Declaration, parse

TEXT = """
# ---- APIs, in the order of their keys ----

# Append record batches to partitions. 3 brings the record batches of today (KIP-98), 10 the new leader after a move
# (KIP-951), 13 topic ids (KIP-516). acks=0 has no response.
Produce key=0 versions=3-13 flexible=9+
  TransactionalId: string? =null
  Acks: int16
  TimeoutMs: int32
  TopicData: []TopicProduceData
    Name: string 0-12 ignorable
    TopicId: uuid 13+ ignorable
    PartitionData: []PartitionProduceData
      Index: int32
      Records: records?
->
  Responses: []TopicProduceResponse
    Name: string 0-12 ignorable
    TopicId: uuid 13+ ignorable
    PartitionResponses: []PartitionProduceResponse
      Index: int32
      ErrorCode: int16
      BaseOffset: int64
      LogAppendTimeMs: int64 =-1
      LogStartOffset: int64 5+ =-1 ignorable
      RecordErrors: []BatchIndexAndErrorMessage 8+ ignorable
        BatchIndex: int32
        BatchIndexErrorMessage: string? =null
      ErrorMessage: string? 8+ =null ignorable
      CurrentLeader: LeaderIdAndEpoch 10+ tag=0
        LeaderId: int32 =-1
        LeaderEpoch: int32 =-1
  ThrottleTimeMs: int32
  NodeEndpoints: []NodeEndpoint 10+ tag=0
    NodeId: int32
    Host: string
    Port: int32
    Rack: string? =null

# Read record batches, as a consumer or as a follower. 7 brings sessions (KIP-227), 9 and 12 epochs to notice a
# diverged log (KIP-320, KIP-595), 13 topic ids, 15 the follower's epoch (KIP-903), 18 its high watermark (KIP-1166).
Fetch key=1 versions=4-18 flexible=12+
  ClusterId: string? 12+ =null tag=0 ignorable
  ReplicaId: int32 0-14 =-1
  ReplicaState: ReplicaState 15+ tag=1
    ReplicaId: int32 =-1
    ReplicaEpoch: int64 =-1
  MaxWaitMs: int32
  MinBytes: int32
  MaxBytes: int32 =0x7fffffff
  IsolationLevel: int8
  SessionId: int32 7+ ignorable
  SessionEpoch: int32 7+ =-1 ignorable
  Topics: []FetchTopic
    Topic: string 0-12 ignorable
    TopicId: uuid 13+ ignorable
    Partitions: []FetchPartition
      Partition: int32
      CurrentLeaderEpoch: int32 9+ =-1 ignorable
      FetchOffset: int64
      LastFetchedEpoch: int32 12+ =-1
      LogStartOffset: int64 5+ =-1 ignorable
      PartitionMaxBytes: int32
      ReplicaDirectoryId: uuid 17+ tag=0 ignorable
      HighWatermark: int64 18+ =9223372036854775807 tag=1 ignorable
  ForgottenTopicsData: []ForgottenTopic 7+
    Topic: string 7-12 ignorable
    TopicId: uuid 13+ ignorable
    Partitions: []int32
  RackId: string 11+ ignorable
->
  ThrottleTimeMs: int32
  ErrorCode: int16 7+ ignorable
  SessionId: int32 7+
  Responses: []FetchableTopicResponse
    Topic: string 0-12 ignorable
    TopicId: uuid 13+ ignorable
    Partitions: []PartitionData
      PartitionIndex: int32
      ErrorCode: int16
      HighWatermark: int64
      LastStableOffset: int64 =-1
      LogStartOffset: int64 5+ =-1 ignorable
      DivergingEpoch: EpochEndOffset 12+ tag=0
        Epoch: int32 =-1
        EndOffset: int64 =-1
      CurrentLeader: LeaderIdAndEpoch 12+ tag=1
        LeaderId: int32 =-1
        LeaderEpoch: int32 =-1
      SnapshotId: SnapshotId 12+ tag=2
        EndOffset: int64 =-1
        Epoch: int32 =-1
      AbortedTransactions: []AbortedTransaction?
        ProducerId: int64
        FirstOffset: int64
      PreferredReadReplica: int32 11+ =-1
      Records: records?
  NodeEndpoints: []NodeEndpoint 16+ tag=0
    NodeId: int32
    Host: string
    Port: int32
    Rack: string? =null

# The offset at a timestamp. Timestamps below zero have a meaning: -1 latest, -2 earliest, -3 the record with the
# largest timestamp (7, KIP-734), -4 to -6 tiered storage (8, 9, 11). 4 brings leader epochs.
ListOffsets key=2 versions=1-11 flexible=6+
  ReplicaId: int32
  IsolationLevel: int8 2+
  Topics: []ListOffsetsTopic
    Name: string
    Partitions: []ListOffsetsPartition
      PartitionIndex: int32
      CurrentLeaderEpoch: int32 4+ =-1 ignorable
      Timestamp: int64
  TimeoutMs: int32 10+ ignorable
->
  ThrottleTimeMs: int32 2+ ignorable
  Topics: []ListOffsetsTopicResponse
    Name: string
    Partitions: []ListOffsetsPartitionResponse
      PartitionIndex: int32
      ErrorCode: int16
      Timestamp: int64 =-1
      Offset: int64 =-1
      LeaderEpoch: int32 4+ =-1

# Who the brokers are and which of them lead which partitions. Topics null means all (at 0 an empty array does). 10
# brings topic ids.
Metadata key=3 versions=0-13 flexible=9+
  Topics: []MetadataRequestTopic?1+
    TopicId: uuid 10+ ignorable
    Name: string?10+
  AllowAutoTopicCreation: bool 4+ =true
  IncludeClusterAuthorizedOperations: bool 8-10
  IncludeTopicAuthorizedOperations: bool 8+
->
  ThrottleTimeMs: int32 3+ ignorable
  Brokers: []MetadataResponseBroker
    NodeId: int32
    Host: string
    Port: int32
    Rack: string? 1+ =null ignorable
  ClusterId: string? 2+ =null ignorable
  ControllerId: int32 1+ =-1 ignorable
  Topics: []MetadataResponseTopic
    ErrorCode: int16
    Name: string?12+
    TopicId: uuid 10+ ignorable
    IsInternal: bool 1+ ignorable
    Partitions: []MetadataResponsePartition
      ErrorCode: int16
      PartitionIndex: int32
      LeaderId: int32
      LeaderEpoch: int32 7+ =-1 ignorable
      ReplicaNodes: []int32
      IsrNodes: []int32
      OfflineReplicas: []int32 5+ ignorable
    TopicAuthorizedOperations: int32 8+ =-2147483648
  ClusterAuthorizedOperations: int32 8-10 =-2147483648
  ErrorCode: int16 13+ ignorable

# Commit offsets: where a group would go on reading. 5 lost the retention time, a config since (KIP-211), 6 brings
# leader epochs (KIP-320), 7 static members (KIP-345), 9 member epochs in the generation's field, 10 topic ids
# (KIP-848).
OffsetCommit key=8 versions=2-10 flexible=8+
  GroupId: string
  GenerationIdOrMemberEpoch: int32 =-1 ignorable
  MemberId: string ignorable
  GroupInstanceId: string? 7+ =null
  RetentionTimeMs: int64 2-4 =-1 ignorable
  Topics: []OffsetCommitRequestTopic
    Name: string 2-9 ignorable
    TopicId: uuid 10+ ignorable
    Partitions: []OffsetCommitRequestPartition
      PartitionIndex: int32
      CommittedOffset: int64
      CommittedLeaderEpoch: int32 6+ =-1 ignorable
      CommittedMetadata: string?
->
  ThrottleTimeMs: int32 3+ ignorable
  Topics: []OffsetCommitResponseTopic
    Name: string 2-9 ignorable
    TopicId: uuid 10+ ignorable
    Partitions: []OffsetCommitResponsePartition
      PartitionIndex: int32
      ErrorCode: int16

# The offsets a group has committed; topics null means all of them (2, KIP-88). 5 brings leader epochs (KIP-320), 7
# waits for open transactions (KIP-447), 8 asks for many groups (KIP-709), 9 brings members, 10 topic ids (KIP-848).
OffsetFetch key=9 versions=1-10 flexible=6+
  GroupId: string 1-7
  Topics: []OffsetFetchRequestTopic?2+ 1-7
    Name: string
    PartitionIndexes: []int32
  Groups: []OffsetFetchRequestGroup 8+
    GroupId: string
    MemberId: string? 9+ =null ignorable
    MemberEpoch: int32 9+ =-1 ignorable
    Topics: []OffsetFetchRequestTopics?
      Name: string 8-9 ignorable
      TopicId: uuid 10+ ignorable
      PartitionIndexes: []int32
  RequireStable: bool 7+
->
  ThrottleTimeMs: int32 3+ ignorable
  Topics: []OffsetFetchResponseTopic 1-7
    Name: string
    Partitions: []OffsetFetchResponsePartition
      PartitionIndex: int32
      CommittedOffset: int64
      CommittedLeaderEpoch: int32 5+ =-1 ignorable
      Metadata: string?
      ErrorCode: int16
  ErrorCode: int16 2-7 ignorable
  Groups: []OffsetFetchResponseGroup 8+
    GroupId: string
    Topics: []OffsetFetchResponseTopics
      Name: string 8-9 ignorable
      TopicId: uuid 10+ ignorable
      Partitions: []OffsetFetchResponsePartitions
        PartitionIndex: int32
        CommittedOffset: int64
        CommittedLeaderEpoch: int32 =-1 ignorable
        Metadata: string?
        ErrorCode: int16
    ErrorCode: int16

# Which broker coordinates a group (KeyType 0), a transactional id (1) or a share partition (2). From 4 many keys at
# once (KIP-699).
FindCoordinator key=10 versions=0-6 flexible=3+
  Key: string 0-3
  KeyType: int8 1+
  CoordinatorKeys: []string 4+
->
  ThrottleTimeMs: int32 1+ ignorable
  ErrorCode: int16 0-3
  ErrorMessage: string? 1-3 ignorable
  NodeId: int32 0-3
  Host: string 0-3
  Port: int32 0-3
  Coordinators: []Coordinator 4+
    Key: string
    NodeId: int32
    Host: string
    Port: int32
    ErrorCode: int16
    ErrorMessage: string? ignorable

# Enter a group, or a rebalance; the answer comes when all members are in. 1 brings the rebalance timeout (KIP-62), 4
# a second try with the member id the coordinator gave (KIP-394), 5 static members (KIP-345), 7 the protocol's type
# for the client to check (KIP-559), 8 a reason (KIP-800), 9 a leader that need not assign (KIP-814).
JoinGroup key=11 versions=0-9 flexible=6+
  GroupId: string
  SessionTimeoutMs: int32
  RebalanceTimeoutMs: int32 1+ =-1 ignorable
  MemberId: string
  GroupInstanceId: string? 5+ =null
  ProtocolType: string
  Protocols: []JoinGroupRequestProtocol
    Name: string
    Metadata: bytes
  Reason: string? 8+ =null ignorable
->
  ThrottleTimeMs: int32 2+ ignorable
  ErrorCode: int16
  GenerationId: int32 =-1
  ProtocolType: string? 7+ =null ignorable
  ProtocolName: string?7+
  Leader: string
  SkipAssignment: bool 9+
  MemberId: string
  Members: []JoinGroupResponseMember
    MemberId: string
    GroupInstanceId: string? 5+ =null ignorable
    Metadata: bytes

# A member is alive; the answer says whether a rebalance is on. 3 brings static members (KIP-345).
Heartbeat key=12 versions=0-4 flexible=4+
  GroupId: string
  GenerationId: int32
  MemberId: string
  GroupInstanceId: string? 3+ =null
->
  ThrottleTimeMs: int32 1+ ignorable
  ErrorCode: int16

# Leave a group without waiting for the session's end. 3 takes out many members, static ones by instance (KIP-345), 5
# says why (KIP-800).
LeaveGroup key=13 versions=0-5 flexible=4+
  GroupId: string
  MemberId: string 0-2
  Members: []MemberIdentity 3+
    MemberId: string
    GroupInstanceId: string? =null
    Reason: string? 5+ =null ignorable
->
  ThrottleTimeMs: int32 1+ ignorable
  ErrorCode: int16
  Members: []MemberResponse 3+
    MemberId: string
    GroupInstanceId: string?
    ErrorCode: int16

# The leader hands in everyone's assignment, each member waits here for its own. 3 brings static members (KIP-345), 5
# the protocol's type and name to check (KIP-559).
SyncGroup key=14 versions=0-5 flexible=4+
  GroupId: string
  GenerationId: int32
  MemberId: string
  GroupInstanceId: string? 3+ =null
  ProtocolType: string? 5+ =null ignorable
  ProtocolName: string? 5+ =null ignorable
  Assignments: []SyncGroupRequestAssignment
    MemberId: string
    Assignment: bytes
->
  ThrottleTimeMs: int32 1+ ignorable
  ErrorCode: int16
  ProtocolType: string? 5+ =null ignorable
  ProtocolName: string? 5+ =null ignorable
  Assignment: bytes

# Classic groups with their members. 3 brings authorized operations (KIP-430), 4 instances (KIP-345), 6 a group that
# does not exist is an error and not a dead group (KIP-1043).
DescribeGroups key=15 versions=0-6 flexible=5+
  Groups: []string
  IncludeAuthorizedOperations: bool 3+
->
  ThrottleTimeMs: int32 1+ ignorable
  Groups: []DescribedGroup
    ErrorCode: int16
    ErrorMessage: string? 6+ =null
    GroupId: string
    GroupState: string
    ProtocolType: string
    ProtocolData: string
    Members: []DescribedGroupMember
      MemberId: string
      GroupInstanceId: string? 4+ =null ignorable
      ClientId: string
      ClientHost: string
      MemberMetadata: bytes
      MemberAssignment: bytes
    AuthorizedOperations: int32 3+ =-2147483648

# The groups this broker coordinates, by state (4, KIP-518) and by type (5, KIP-848).
ListGroups key=16 versions=0-5 flexible=3+
  StatesFilter: []string 4+
  TypesFilter: []string 5+
->
  ThrottleTimeMs: int32 1+ ignorable
  ErrorCode: int16
  Groups: []ListedGroup
    GroupId: string
    ProtocolType: string
    GroupState: string 4+ ignorable
    GroupType: string 5+ ignorable

# Which versions of which APIs this broker speaks: the first request of nearly every client. The response has header
# version 0 always, so that a client can read it before it knows anything. 3 brings features (KIP-584).
ApiVersions key=18 versions=0-4 flexible=3+
  ClientSoftwareName: string 3+ ignorable
  ClientSoftwareVersion: string 3+ ignorable
->
  ErrorCode: int16
  ApiKeys: []ApiVersion
    ApiKey: int16
    MinVersion: int16
    MaxVersion: int16
  ThrottleTimeMs: int32 1+ ignorable
  SupportedFeatures: []SupportedFeatureKey 3+ tag=0 ignorable
    Name: string
    MinVersion: int16
    MaxVersion: int16
  FinalizedFeaturesEpoch: int64 3+ =-1 tag=1 ignorable
  FinalizedFeatures: []FinalizedFeatureKey 3+ tag=2 ignorable
    Name: string
    MaxVersionLevel: int16
    MinVersionLevel: int16
  ZkMigrationReady: bool 3+ tag=3 ignorable

# Create topics. NumPartitions and ReplicationFactor -1 mean the broker's default (4, KIP-464), or that Assignments
# are given.
CreateTopics key=19 versions=2-7 flexible=5+
  Topics: []CreatableTopic
    Name: string
    NumPartitions: int32
    ReplicationFactor: int16
    Assignments: []CreatableReplicaAssignment
      PartitionIndex: int32
      BrokerIds: []int32
    Configs: []CreatableTopicConfig
      Name: string
      Value: string?
  timeoutMs: int32 =60000
  validateOnly: bool
->
  ThrottleTimeMs: int32
  Topics: []CreatableTopicResult
    Name: string
    TopicId: uuid 7+ ignorable
    ErrorCode: int16
    ErrorMessage: string?
    TopicConfigErrorCode: int16 5+ tag=0 ignorable
    NumPartitions: int32 5+ =-1 ignorable
    ReplicationFactor: int16 5+ =-1 ignorable
    Configs: []CreatableTopicConfigs? 5+ ignorable
      Name: string
      Value: string?
      ReadOnly: bool
      ConfigSource: int8 =-1 ignorable
      IsSensitive: bool

# Delete topics by name, from 6 by topic id too.
DeleteTopics key=20 versions=1-6 flexible=4+
  Topics: []DeleteTopicState 6+
    Name: string? =null
    TopicId: uuid
  TopicNames: []string 0-5 ignorable
  TimeoutMs: int32
->
  ThrottleTimeMs: int32
  Responses: []DeletableTopicResult
    Name: string?6+
    TopicId: uuid 6+ ignorable
    ErrorCode: int16
    ErrorMessage: string? 5+ =null ignorable

# Delete what lies before an offset (KIP-107); offset -1 means the high watermark.
DeleteRecords key=21 versions=0-2 flexible=2+
  Topics: []DeleteRecordsTopic
    Name: string
    Partitions: []DeleteRecordsPartition
      PartitionIndex: int32
      Offset: int64
  TimeoutMs: int32
->
  ThrottleTimeMs: int32
  Topics: []DeleteRecordsTopicResult
    Name: string
    Partitions: []DeleteRecordsPartitionResult
      PartitionIndex: int32
      LowWatermark: int64
      ErrorCode: int16

# A producer id and epoch, for an idempotent or a transactional producer (KIP-98). From 3 a producer can ask for the
# next epoch (KIP-360); 6 is two-phase commit (KIP-939).
InitProducerId key=22 versions=0-6 flexible=2+
  TransactionalId: string?
  TransactionTimeoutMs: int32
  ProducerId: int64 3+ =-1
  ProducerEpoch: int16 3+ =-1
  Enable2Pc: bool 6+
  KeepPreparedTxn: bool 6+
->
  ThrottleTimeMs: int32
  ErrorCode: int16
  ProducerId: int64 =-1
  ProducerEpoch: int16
  OngoingTxnProducerId: int64 6+ =-1
  OngoingTxnProducerEpoch: int16 6+ =-1

# Where the records of a leader epoch end (KIP-101): a reader that finds its own last epoch ending earlier has read
# records that are gone (KIP-320). 3 brings the replica's id.
OffsetForLeaderEpoch key=23 versions=2-4 flexible=4+
  ReplicaId: int32 3+ =-2 ignorable
  Topics: []OffsetForLeaderTopic
    Topic: string
    Partitions: []OffsetForLeaderPartition
      Partition: int32
      CurrentLeaderEpoch: int32 =-1 ignorable
      LeaderEpoch: int32
->
  ThrottleTimeMs: int32 ignorable
  Topics: []OffsetForLeaderTopicResult
    Topic: string
    Partitions: []EpochEndOffset
      ErrorCode: int16
      Partition: int32
      LeaderEpoch: int32 =-1 ignorable
      EndOffset: int64 =-1

# The configs of topics (ResourceType 2) and brokers (4), where each value comes from, and what else it would be.
DescribeConfigs key=32 versions=1-4 flexible=4+
  Resources: []DescribeConfigsResource
    ResourceType: int8
    ResourceName: string
    ConfigurationKeys: []string?
  IncludeSynonyms: bool
  IncludeDocumentation: bool 3+
->
  ThrottleTimeMs: int32
  Results: []DescribeConfigsResult
    ErrorCode: int16
    ErrorMessage: string?
    ResourceType: int8
    ResourceName: string
    Configs: []DescribeConfigsResourceResult
      Name: string
      Value: string?
      ReadOnly: bool
      ConfigSource: int8 =-1
      IsSensitive: bool
      Synonyms: []DescribeConfigsSynonym
        Name: string
        Value: string?
        Source: int8
      ConfigType: int8 3+ ignorable
      Documentation: string? 3+ ignorable

# Give a topic more partitions; Count is the new total (KIP-195).
CreatePartitions key=37 versions=0-3 flexible=2+
  Topics: []CreatePartitionsTopic
    Name: string
    Count: int32
    Assignments: []CreatePartitionsAssignment?
      BrokerIds: []int32
  TimeoutMs: int32
  ValidateOnly: bool
->
  ThrottleTimeMs: int32
  Results: []CreatePartitionsTopicResult
    Name: string
    ErrorCode: int16
    ErrorMessage: string? =null

# Delete groups without members, with their offsets (KIP-229).
DeleteGroups key=42 versions=0-2 flexible=2+
  GroupsNames: []string
->
  ThrottleTimeMs: int32
  Results: []DeletableGroupResult
    GroupId: string
    ErrorCode: int16

# Set (0), delete (1), append to (2) or subtract from (3) single configs (KIP-339).
IncrementalAlterConfigs key=44 versions=0-1 flexible=1+
  Resources: []AlterConfigsResource
    ResourceType: int8
    ResourceName: string
    Configs: []AlterableConfig
      Name: string
      ConfigOperation: int8
      Value: string?
  ValidateOnly: bool
->
  ThrottleTimeMs: int32
  Responses: []AlterConfigsResourceResponse
    ErrorCode: int16
    ErrorMessage: string?
    ResourceType: int8
    ResourceName: string

# Delete a group's offsets of topics it no longer subscribes to (KIP-496).
OffsetDelete key=47 versions=0
  GroupId: string
  Topics: []OffsetDeleteRequestTopic
    Name: string
    Partitions: []OffsetDeleteRequestPartition
      PartitionIndex: int32
->
  ErrorCode: int16
  ThrottleTimeMs: int32 ignorable
  Topics: []OffsetDeleteResponseTopic
    Name: string
    Partitions: []OffsetDeleteResponsePartition
      PartitionIndex: int32
      ErrorCode: int16

# The brokers and the controller (KIP-700); EndpointType 2 asks a controller for the controllers (KIP-919).
DescribeCluster key=60 versions=0-2 flexible=0+
  IncludeClusterAuthorizedOperations: bool
  EndpointType: int8 1+ =1
  IncludeFencedBrokers: bool 2+
->
  ThrottleTimeMs: int32
  ErrorCode: int16
  ErrorMessage: string? =null
  EndpointType: int8 1+ =1
  ClusterId: string
  ControllerId: int32 =-1
  Brokers: []DescribeClusterBroker
    BrokerId: int32
    Host: string
    Port: int32
    Rack: string? =null
    IsFenced: bool 2+
  ClusterAuthorizedOperations: int32 =-2147483648

# The one request of a member of a new consumer group: it joins (epoch 0), stays, reports what it owns and leaves (-1,
# -2 if static); the answer is its assignment. Null means unchanged (KIP-848). From 1 a member makes its own id
# (KIP-1082).
ConsumerGroupHeartbeat key=68 versions=0-1 flexible=0+
  GroupId: string
  MemberId: string
  MemberEpoch: int32
  InstanceId: string? =null
  RackId: string? =null
  RebalanceTimeoutMs: int32 =-1
  SubscribedTopicNames: []string? =null
  SubscribedTopicRegex: string? 1+ =null
  ServerAssignor: string? =null
  TopicPartitions: []TopicPartitions? =null
    TopicId: uuid
    Partitions: []int32
->
  ThrottleTimeMs: int32
  ErrorCode: int16
  ErrorMessage: string? =null
  MemberId: string? =null
  MemberEpoch: int32
  HeartbeatIntervalMs: int32
  Assignment: Assignment? =null
    TopicPartitions: []TopicPartitions
      TopicId: uuid
      Partitions: []int32

# New consumer groups, with what each member has and is to have (KIP-848); 1 says which members still speak the classic
# protocol (KIP-1099).
ConsumerGroupDescribe key=69 versions=0-1 flexible=0+
  GroupIds: []string
  IncludeAuthorizedOperations: bool
->
  ThrottleTimeMs: int32
  Groups: []DescribedGroup
    ErrorCode: int16
    ErrorMessage: string? =null
    GroupId: string
    GroupState: string
    GroupEpoch: int32
    AssignmentEpoch: int32
    AssignorName: string
    Members: []Member
      MemberId: string
      InstanceId: string? =null
      RackId: string? =null
      MemberEpoch: int32
      ClientId: string
      ClientHost: string
      SubscribedTopicNames: []string
      SubscribedTopicRegex: string? =null
      Assignment: Assignment
        TopicPartitions: []TopicPartitions
          TopicId: uuid
          TopicName: string
          Partitions: []int32
      TargetAssignment: Assignment
      MemberType: int8 1+ =-1 ignorable
    AuthorizedOperations: int32 =-2147483648

# Topics partition by partition, a page at a time; the cursor says where the next page begins (KIP-966).
DescribeTopicPartitions key=75 versions=0 flexible=0+
  Topics: []TopicRequest
    Name: string
  ResponsePartitionLimit: int32 =2000
  Cursor: Cursor? =null
    TopicName: string
    PartitionIndex: int32
->
  ThrottleTimeMs: int32
  Topics: []DescribeTopicPartitionsResponseTopic
    ErrorCode: int16
    Name: string?
    TopicId: uuid
    IsInternal: bool
    Partitions: []DescribeTopicPartitionsResponsePartition
      ErrorCode: int16
      PartitionIndex: int32
      LeaderId: int32
      LeaderEpoch: int32 =-1
      ReplicaNodes: []int32
      IsrNodes: []int32
      EligibleLeaderReplicas: []int32? =null
      LastKnownElr: []int32? =null
      OfflineReplicas: []int32
    TopicAuthorizedOperations: int32 =-2147483648
  NextCursor: Cursor? =null
    TopicName: string
    PartitionIndex: int32

# ---- Records of the metadata log, __cluster_metadata ----

# A broker process has registered with the controller (KIP-631). Its epoch is the offset of this record.
RegisterBrokerRecord record=0 versions=0-4 flexible=0+
  BrokerId: int32
  IsMigratingZkBroker: bool 2+
  IncarnationId: uuid
  BrokerEpoch: int64
  EndPoints: []BrokerEndpoint
    Name: string
    Host: string
    Port: uint16
    SecurityProtocol: int16
  Features: []BrokerFeature
    Name: string
    MinSupportedVersion: int16
    MaxSupportedVersion: int16
  Rack: string?
  Fenced: bool =true
  InControlledShutdown: bool 1+
  LogDirs: []uuid 3+ tag=0
  CordonedLogDirs: []uuid? 4+ =null tag=1

# A topic was created. Its partitions follow as PartitionRecords.
TopicRecord record=2 versions=0 flexible=0+
  Name: string
  TopicId: uuid

# A partition, with its replicas, in-sync replicas and leader.
PartitionRecord record=3 versions=0-2 flexible=0+
  PartitionId: int32 =-1
  TopicId: uuid
  Replicas: []int32
  Isr: []int32
  RemovingReplicas: []int32
  AddingReplicas: []int32
  Leader: int32 =-1
  LeaderRecoveryState: int8 tag=0
  LeaderEpoch: int32 =-1
  PartitionEpoch: int32 =-1
  Directories: []uuid 1+
  EligibleLeaderReplicas: []int32? 2+ =null tag=1
  LastKnownElr: []int32? 2+ =null tag=2

# A config of a topic (ResourceType 2) or broker (4) was set; null deletes it.
ConfigRecord record=4 versions=0 flexible=0+
  ResourceType: int8
  ResourceName: string
  Name: string
  Value: string?

# What changed in a partition. What did not change is left out, which is why all of it is tagged.
PartitionChangeRecord record=5 versions=0-2 flexible=0+
  PartitionId: int32 =-1
  TopicId: uuid
  Isr: []int32? =null tag=0
  Leader: int32 =-2 tag=1
  Replicas: []int32? =null tag=2
  RemovingReplicas: []int32? =null tag=3
  AddingReplicas: []int32? =null tag=4
  LeaderRecoveryState: int8 =-1 tag=5
  Directories: []uuid? 1+ =null tag=8
  EligibleLeaderReplicas: []int32? 2+ =null tag=6
  LastKnownElr: []int32? 2+ =null tag=7

# A topic was deleted, with its partitions.
RemoveTopicRecord record=9 versions=0 flexible=0+
  TopicId: uuid

# The level of a feature. A metadata log begins with that of metadata.version, which says how to read the rest.
FeatureLevelRecord record=12 versions=0 flexible=0+
  Name: string
  FeatureLevel: int16

# A block of producer ids went to a broker; the next block begins at NextProducerId (KIP-730).
ProducerIdsRecord record=15 versions=0 flexible=0+
  BrokerId: int32
  BrokerEpoch: int64 =-1
  NextProducerId: int64

# A broker was fenced (1) or unfenced (-1), or shuts down in an orderly way.
BrokerRegistrationChangeRecord record=17 versions=0-3 flexible=0+
  BrokerId: int32
  BrokerEpoch: int64
  Fenced: int8 tag=0
  InControlledShutdown: int8 1+ tag=1
  LogDirs: []uuid 2+ tag=2
  CordonedLogDirs: []uuid? 3+ =null tag=3

# Written by an idle controller, so that the log and its high watermark keep moving (KIP-835).
NoOpRecord record=20 versions=0 flexible=0+

# What follows, up to the end, is applied together or not at all (KIP-868).
BeginTransactionRecord record=23 versions=0 flexible=0+
  Name: string? =null tag=0

# All of it is there: apply it.
EndTransactionRecord record=24 versions=0 flexible=0+

# The controller gave up in between: forget it.
AbortTransactionRecord record=25 versions=0 flexible=0+
  Reason: string? =null tag=0

# A controller process has registered with the active controller (KIP-919).
RegisterControllerRecord record=27 versions=0 flexible=0+
  ControllerId: int32
  IncarnationId: uuid
  ZkMigrationReady: bool
  EndPoints: []ControllerEndpoint
    Name: string
    Host: string
    Port: uint16
    SecurityProtocol: int16
  Features: []ControllerFeature
    Name: string
    MinSupportedVersion: int16
    MaxSupportedVersion: int16

# ---- Records of __consumer_offsets: the key, then the value, which alone has versions ----

# The offset a group has committed for a partition. 3 brings its leader epoch (KIP-320), 4 the topic's id (KIP-848); 1
# is for a client that still says how long to keep it.
OffsetCommit coordinator=1 versions=0-4 flexible=4+
  group: string
  topic: string
  partition: int32
->
  offset: int64
  leaderEpoch: int32 3+ =-1 ignorable
  metadata: string
  commitTimestamp: int64
  expireTimestamp: int64 1 =-1 ignorable
  topicId: uuid 4+ tag=0 ignorable

# A classic group's generation, with each member's subscription and assignment. 3 brings static members (KIP-345); 4
# can be read since KIP-915, but nobody writes it yet.
GroupMetadata coordinator=2 versions=0-4 flexible=4+ written=3
  group: string
->
  protocolType: string
  generation: int32
  protocol: string?
  leader: string?
  currentStateTimestamp: int64 2+ =-1 ignorable
  members: []MemberMetadata
    memberId: string
    groupInstanceId: string? 3+ =null ignorable
    clientId: string
    clientHost: string
    rebalanceTimeout: int32 1+ =-1 ignorable
    sessionTimeout: int32
    subscription: bytes
    assignment: bytes

# A new consumer group's epoch (KIP-848). The hash tells whether its topics have changed (KIP-1101).
ConsumerGroupMetadata coordinator=3 versions=0 flexible=0+
  GroupId: string
->
  Epoch: int32
  MetadataHash: int64 tag=0

# The topics a group's assignment was made for, as Kafka 4.0 wrote them; since 4.1 there is the hash instead (KIP-1101).
ConsumerGroupPartitionMetadata coordinator=4 versions=0 flexible=0+
  GroupId: string
->
  Topics: []TopicMetadata
    TopicId: uuid
    TopicName: string
    NumPartitions: int32
    PartitionMetadata: []PartitionMetadata
      Partition: int32
      Racks: []string

# A member as it presents itself. ClassicMemberMetadata is for one that still speaks the classic protocol and null for
# all others: not its default, it has to be set.
ConsumerGroupMemberMetadata coordinator=5 versions=0 flexible=0+
  GroupId: string
  MemberId: string
->
  InstanceId: string?
  RackId: string?
  ClientId: string
  ClientHost: string
  SubscribedTopicNames: []string
  SubscribedTopicRegex: string?
  RebalanceTimeoutMs: int32 =-1
  ServerAssignor: string?
  ClassicMemberMetadata: ClassicMemberMetadata? tag=0
    SessionTimeoutMs: int32
    SupportedProtocols: []ClassicProtocol
      Name: string
      Metadata: bytes

# The group epoch that the target assignment below was made for; the timestamp spaces assignments out (KIP-1263).
ConsumerGroupTargetAssignmentMetadata coordinator=6 versions=0 flexible=0+
  GroupId: string
->
  AssignmentEpoch: int32
  AssignmentTimestamp: int64 tag=0 ignorable

# What a member is to have once all have given up what they must.
ConsumerGroupTargetAssignmentMember coordinator=7 versions=0 flexible=0+
  GroupId: string
  MemberId: string
->
  TopicPartitions: []TopicPartition
    TopicId: uuid
    Partitions: []int32

# What a member has now, what it must give up, and its epoch. State is 0 stable, 1 it must revoke, 2 it waits for
# others to revoke.
ConsumerGroupCurrentMemberAssignment coordinator=8 versions=0 flexible=0+
  GroupId: string
  MemberId: string
->
  MemberEpoch: int32
  PreviousMemberEpoch: int32
  State: int8
  AssignedPartitions: []TopicPartitions
    TopicId: uuid
    Partitions: []int32
    AssignmentEpochs: []int32? tag=0
  PartitionsPendingRevocation: []TopicPartitions

# The topics a subscribed pattern stood for when it was last looked up; Version is the metadata's.
ConsumerGroupRegularExpression coordinator=16 versions=0 flexible=0+
  GroupId: string
  RegularExpression: string
->
  Topics: []string
  Version: int64
  Timestamp: int64

# ---- Values of control records, which have no framing of their own ----

# Control record 2: a new leader's first record in its epoch (KIP-595).
LeaderChangeMessage versions=0-1 flexible=0+
  Version: int16
  LeaderId: int32
  Voters: []Voter
    VoterId: int32
    VoterDirectoryId: uuid 1+
  GrantingVoters: []Voter

# Control record 3: the first record of a snapshot (KIP-630).
SnapshotHeaderRecord versions=0 flexible=0+
  Version: int16
  LastContainedLogTimestamp: int64

# Control record 4: the last record of a snapshot; one without it is not whole.
SnapshotFooterRecord versions=0 flexible=0+
  Version: int16

# Control record 5: which version of the quorum's own protocol holds (KIP-853).
KRaftVersionRecord versions=0 flexible=0+
  Version: int16
  KRaftVersion: int16

# Control record 6: who the voters are, from kraft.version 1 (KIP-853).
VotersRecord versions=0 flexible=0+
  Version: int16
  Voters: []Voter
    VoterId: int32
    VoterDirectoryId: uuid
    Endpoints: []Endpoint
      Name: string
      Host: string
      Port: uint16
    KRaftVersionFeature: KRaftVersionFeature
      MinSupportedVersion: int16
      MaxSupportedVersion: int16

# Control records 0 (abort) and 1 (commit): how a transaction ended in this partition (KIP-98).
EndTxnMarker versions=0
  CoordinatorEpoch: int32

# ---- What members of a classic consumer group tell each other, with an int16 version in front ----

# What a member tells its group's leader in JoinGroup's Metadata. 1 brings the partitions it owns (KIP-429), 2 since
# which generation (KIP-792), 3 its rack (KIP-881).
ConsumerProtocolSubscription versions=0-3
  Topics: []string
  UserData: bytes? =null
  OwnedPartitions: []TopicPartition 1+ ignorable
    Topic: string
    Partitions: []int32
  GenerationId: int32 2+ =-1 ignorable
  RackId: string? 3+ =null ignorable

# What the leader gives a member, in SyncGroup's Assignment.
ConsumerProtocolAssignment versions=0-3
  AssignedPartitions: []TopicPartition
    Topic: string
    Partitions: []int32
  UserData: bytes? =null
"""


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """A request and its response."""

    name: str
    key: int
    min_version: int
    max_version: int
    request: Schema
    response: Schema

    def flexible(self, version: int) -> bool:
        """Whether lengths are compact and there are tagged fields (KIP-482)."""
        return version in self.request.flexible


@dataclass(frozen=True, slots=True, eq=False)
class RecordType:
    """A record of the metadata log."""

    name: str
    key: int
    schema: Schema

    @property
    def versions(self) -> range:
        return self.schema.versions


@dataclass(frozen=True, slots=True, eq=False)
class CoordinatorRecordType:
    """A record of a coordinator's log. The key has the record's type in place of a version, and one form only."""

    name: str
    key: int
    written_version: int  # of the value, by Apache Kafka 4.3
    key_schema: Schema
    value_schema: Schema

    @property
    def versions(self) -> range:
        return self.value_schema.versions


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A decoded request. Views of record batches in the body point into the frame."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: Message


class UnsupportedVersion(Exception):
    """A request of an API or version that the schema text does not have, with what its header says nevertheless."""

    def __init__(self, api_key: int, version: int, correlation_id: int, client_id: str | None) -> None:
        name = BY_KEY[api_key].name if api_key in BY_KEY else f"API key {api_key}"
        super().__init__(f"{name} version {version} is not supported")
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id


API: Mapping[str, Api]
BY_KEY: Mapping[int, Api]
RECORD: Mapping[str, RecordType]
COORDINATOR_RECORD: Mapping[str, CoordinatorRecordType]
DATA: Mapping[str, Schema]  # bare messages: the values of control records, and what members of a group tell each other


class _Tables(NamedTuple):
    apis: dict[str, Api]
    records: dict[str, RecordType]
    coordinator_records: dict[str, CoordinatorRecordType]
    data: dict[str, Schema]


def _compile(text: str) -> _Tables:
    apis, records, coordinator_records, data = tables = _Tables({}, {}, {}, {})
    for declaration in parse(text):
        name, attributes = declaration.name, declaration.attributes
        if "key" in attributes:
            request, response = declaration.schema("Request"), declaration.schema("Response", 1)
            apis[name] = Api(name, int(attributes["key"]), request.versions[0], request.versions[-1], request, response)
        elif "record" in attributes:
            records[name] = RecordType(name, int(attributes["record"]), declaration.schema())
        elif "coordinator" in attributes:
            coordinator_records[name] = _coordinator_record(declaration)
        else:
            data[name] = declaration.schema()
    return tables


def _coordinator_record(declaration: Declaration) -> CoordinatorRecordType:
    name, attributes = declaration.name, declaration.attributes
    key = Schema(f"{name}Key", range(1), range(0), declaration.structs[0])
    value = declaration.schema("Value", 1)
    written = int(attributes.get("written", value.versions[-1]))
    return CoordinatorRecordType(name, int(attributes["coordinator"]), written, key, value)


API, RECORD, COORDINATOR_RECORD, DATA = _compile(TEXT)
BY_KEY = {api.key: api for api in API.values()}

# Frames. Each begins with a header; the size in front of it is the affair of whoever owns the socket.

_REQUEST_HEADER = struct.Struct(">hhi")  # API key, API version, correlation id; the client id follows
_RESPONSE_HEADER = struct.Struct(">i")
_read_client_id, _write_client_id = string_reader(flexible=False), string_writer(flexible=False)
_VERSION = struct.Struct(">h")

MOST_REQUEST_ITEMS = 10_000  # in all arrays of a request: about what can be answered in 100 ms


def encode_request(
    api: str, version: int, correlation_id: int, client_id: str | None, body: Message | Mapping[str, Any]
) -> list[Any]:
    """A request as the parts of a frame, without its size. Record batches are parts of their own, not copied."""
    kind = API[api]
    parts: list[Any] = [bytearray(_REQUEST_HEADER.pack(kind.key, version, correlation_id))]
    _write_client_id(parts, client_id)  # never compact, so that a broker can read the header of any version
    if kind.flexible(version):
        parts[-1] += NO_TAGGED_FIELDS
    kind.request.encode(version, body, parts)
    return _without_empty(parts)


def decode_request(frame: bytes | bytearray | memoryview) -> Request:
    """A request from a frame without its size. Raises UnsupportedVersion, or DecodeError.

    Bytes behind the last field are ignored, as Apache Kafka does.
    """
    buffer = memoryview(frame)
    if len(buffer) < _REQUEST_HEADER.size:
        raise DecodeError(f"a request of {len(buffer)} bytes has no whole header")
    key, version, correlation_id = _REQUEST_HEADER.unpack_from(buffer)
    api = BY_KEY.get(key)
    if api is None or not api.min_version <= version <= api.max_version:
        raise UnsupportedVersion(key, version, correlation_id, _client_id_if_readable(buffer))
    client_id, at = _header_string(buffer)
    if api.flexible(version):
        at = _skip_tagged_fields(buffer, at)
    body, _ = api.request.decode(version, buffer, at, MOST_REQUEST_ITEMS)
    return Request(api, version, correlation_id, client_id, body)


def encode_response(api: str, version: int, correlation_id: int, body: Message | Mapping[str, Any]) -> list[Any]:
    """A response as the parts of a frame, without its size."""
    kind = API[api]
    parts: list[Any] = [bytearray(_RESPONSE_HEADER.pack(correlation_id))]
    if _flexible_response_header(kind, version):
        parts[-1] += NO_TAGGED_FIELDS
    kind.response.encode(version, body, parts)
    return _without_empty(parts)


def decode_response(api: str, version: int, frame: bytes | bytearray | memoryview) -> tuple[int, Message]:
    """The correlation id and the response; whoever sent the request knows its API and version. Raises DecodeError."""
    buffer, kind = memoryview(frame), API[api]
    if len(buffer) < _RESPONSE_HEADER.size:
        raise DecodeError(f"a response of {len(buffer)} bytes has no whole header")
    (correlation_id,) = _RESPONSE_HEADER.unpack_from(buffer)
    at = _RESPONSE_HEADER.size
    if _flexible_response_header(kind, version):
        at = _skip_tagged_fields(buffer, at)
    return correlation_id, kind.response.decode(version, buffer, at)[0]


def _flexible_response_header(api: Api, version: int) -> bool:
    """ApiVersions: never, since a client that reads it does not know yet what the broker speaks (KIP-511)."""
    return api.flexible(version) and api.name != "ApiVersions"


def _header_string(buffer: memoryview) -> tuple[str | None, int]:
    try:
        return _read_client_id(buffer, _REQUEST_HEADER.size)
    except (struct.error, DecodeError):
        raise DecodeError("the header of a request ends within its client id") from None


def _client_id_if_readable(buffer: memoryview) -> str | None:
    try:
        return _header_string(buffer)[0]
    except DecodeError:
        return None


def _skip_tagged_fields(buffer: memoryview, at: int) -> int:
    try:
        if not buffer[at]:  # nearly always
            return at + 1
        count, at = read_unsigned_varint(buffer, at)
        if count > MOST_REQUEST_ITEMS:
            raise DecodeError(f"the header announces {count} tagged fields")
        for _ in range(count):
            _, at = read_unsigned_varint(buffer, at)
            size, at = read_unsigned_varint(buffer, at)
            at += size
    except IndexError:
        raise DecodeError("the header ends within its tagged fields") from None
    return at


def _without_empty(parts: list[Any]) -> list[Any]:
    return [part for part in parts if len(part)]


# Bare messages: whoever reads one knows its version, or finds it in front


def encode_data(name: str, version: int, body: Message | Mapping[str, Any]) -> bytes:
    """A bare message, as the value of a control record is one."""
    parts: list[Any] = [bytearray()]
    DATA[name].encode(version, body, parts)
    return bytes(parts[0])


def decode_data(name: str, version: int, data: bytes | bytearray | memoryview) -> Message:
    return DATA[name].decode(version, memoryview(data))[0]


def encode_versioned(name: str, version: int, body: Message | Mapping[str, Any]) -> bytes:
    """A bare message with its version in front: the subscription or assignment of a group's member."""
    return _VERSION.pack(version) + encode_data(name, version, body)


def decode_versioned(name: str, data: bytes | bytearray | memoryview) -> Message:
    """The message behind its version. Raises DecodeError.

    A version that came after ours is read as our newest, as Apache Kafka's ConsumerProtocol does: such a message has
    more fields at its end.
    """
    if len(data) < _VERSION.size:
        raise DecodeError(f"a {name} of {len(data)} bytes has no version")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise DecodeError(f"{name} has no version {version}")
    return decode_data(name, min(version, DATA[name].versions[-1]), memoryview(data)[_VERSION.size :])
