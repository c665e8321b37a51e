// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// APIVersion is the apiVersion of the configuration file.
	APIVersion = "config.fairlead.dev/v1alpha1"

	// Kind is the kind of the configuration file.
	Kind = "FairleadConfiguration"

	// Off is the bind address that switches a server off.
	Off = "0"
)

// Configuration is everything that can be configured of `fairlead manager`.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	// ClientConnection configures how the API server is reached.
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`

	// Service names the Service and the namespace through which the API server reaches the webhooks.
	Service Service `json:"service,omitempty"`

	// Namespaces are the namespaces whose objects are cached and reconciled. Empty means all.
	// Webhooks answer for every namespace regardless: registrations are cluster-wide.
	Namespaces []string `json:"namespaces,omitempty"`

	// ClusterAccess lets the operator use what lies in no namespace: it discovers the addresses of the
	// cluster, migrates storage, and asks for rights and writes Events in any namespace. Defaults to true.
	// False is for an operator that has Roles in Namespaces alone; Egress.ClusterCIDRs must then say where
	// the cluster is.
	ClusterAccess bool `json:"clusterAccess"`

	// Shard is the part of the namespaces that is reconciled, where others reconcile the rest.
	Shard Shard `json:"shard,omitempty"`

	// Controllers configures how objects are reconciled.
	Controllers Controllers `json:"controllers,omitempty"`

	// ExternalServices configures how what is outside the cluster is looked up and checked.
	ExternalServices ExternalServices `json:"externalServices,omitempty"`

	// RebootPolicies configures how workloads are restarted.
	RebootPolicies RebootPolicies `json:"rebootPolicies,omitempty"`

	// Calendar configures when nothing is disrupted in the whole cluster.
	Calendar Calendar `json:"calendar,omitempty"`

	// StorageMigration configures how objects that are stored at an old version are rewritten.
	StorageMigration StorageMigration `json:"storageMigration,omitempty"`

	// Egress configures which addresses an ExternalService may have.
	Egress Egress `json:"egress,omitempty"`

	// Webhook is the server of admission and conversion.
	Webhook Webhook `json:"webhook,omitempty"`

	// LeaderElection configures how replicas agree on the one that reconciles.
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`

	// Metrics is the server of /metrics.
	Metrics Metrics `json:"metrics,omitempty"`

	// Health is the server of /healthz, /readyz and /statusz.
	Health Health `json:"health,omitempty"`

	// Profiling opts in to net/http/pprof. It is off by default.
	Profiling Profiling `json:"profiling,omitempty"`

	// Logging is the format and the level of the log.
	Logging Logging `json:"logging,omitempty"`

	// GracefulShutdownTimeout bounds the whole of an orderly stop: reconcilers, release of the
	// Lease, webhook drain, caches. Defaults to 65s: the drain may take 50, and what is left
	// is for the reconcilers. Without webhooks nothing drains, and less will do. A pod needs a
	// terminationGracePeriodSeconds above it.
	GracefulShutdownTimeout metav1.Duration `json:"gracefulShutdownTimeout,omitempty"`
}

// ClientConnection configures how the API server is reached.
type ClientConnection struct {
	// Kubeconfig is the path of a kubeconfig. Empty means KUBECONFIG, the service account of the
	// pod, or ~/.kube/config, in this order.
	Kubeconfig string `json:"kubeconfig,omitempty"`

	// QPS is how many requests per second the reconcilers' client sends on average. The default,
	// -1, leaves throttling to the API server's priority and fairness: what is in flight is bounded
	// by controllers.concurrency, and a limit here would hold back a failover of many objects.
	// Election has a client of its own.
	QPS float32 `json:"qps,omitempty"`

	// Burst is how many requests may be sent at once where QPS limits them. Defaults to 200.
	Burst int `json:"burst,omitempty"`

	// StartTimeout bounds how long an API server that does not answer is retried at start. The
	// default is 60s.
	StartTimeout metav1.Duration `json:"startTimeout,omitempty"`
}

// Service names the Service in front of the webhook server.
type Service struct {
	// Namespace is the namespace of the operator. Empty means the POD_NAMESPACE variable, or the
	// namespace of the service account.
	Namespace string `json:"namespace,omitempty"`

	// Name is the webhook's Service. Defaults to fairlead-webhook.
	Name string `json:"name,omitempty"`
}

// Shard is a part of the namespaces.
type Shard struct {
	// Name of the shard, a label of DNS. Empty: there is one part, which is all namespaces or those that
	// `namespaces` lists.
	Name string `json:"name,omitempty"`

	// NamespaceSelector selects namespaces by their labels, as `kubectl get --selector` does. Labels may change
	// while the operator runs. No two shards should select one namespace; where they do, it stays with the one
	// that had it first.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
}

// Controllers configures how objects are reconciled.
type Controllers struct {
	// Enabled reconciles, and migrates storage. Defaults to true; false is for replicas that only
	// serve webhooks, while others reconcile. They take part in no election.
	Enabled bool `json:"enabled"`

	// Concurrency is the number of objects of a kind that are reconciled at the same time, by
	// kind: ExternalService (default 10), RebootPolicy (2), ChaosPod (2).
	Concurrency map[string]int `json:"concurrency,omitempty"`

	// CacheSyncTimeout bounds the first LIST of every kind. Defaults to 5m: a kind that is
	// stored at its other version is converted object by object, and the two minutes that are
	// usual are not enough for many objects (kubernetes-sigs/controller-runtime#1786).
	CacheSyncTimeout metav1.Duration `json:"cacheSyncTimeout,omitempty"`

	// Warmup keeps the caches of replicas that do not lead filled, so that they take over at
	// once. Defaults to true; false saves their memory.
	Warmup bool `json:"warmup"`
}

// StorageMigration configures how objects that are stored at an old version are rewritten.
type StorageMigration struct {
	// Enabled turns it on. Defaults to true.
	Enabled bool `json:"enabled"`

	// Rate is how many objects are rewritten in a second. Defaults to 20.
	Rate int `json:"rate,omitempty"`

	// Settle is how long a leader must have seen a storage version before it rewrites objects: until
	// then an API server may not know the CRD, and store at the old version. Defaults to 30s.
	Settle metav1.Duration `json:"settle,omitempty"`
}

func (s StorageMigration) validate(path *field.Path) field.ErrorList {
	errs := within(path.Child("rate"), s.Rate, 1, 1000)
	if d := s.Settle.Duration; d < time.Second || d > time.Hour {
		errs = append(errs, field.Invalid(path.Child("settle"), d.String(), "must be from 1s to 1h"))
	}
	return errs
}

const (
	// ElectionLease elects by a Lease that is renewed.
	ElectionLease = "lease"
	// ElectionForLife elects by a lock that its holder's Pod owns.
	ElectionForLife = "forLife"
)

// LeaderElection configures how replicas agree on the one that reconciles.
type LeaderElection struct {
	// LeaderElect turns election on. Defaults to true. Without it every replica reconciles,
	// and there must be one only.
	LeaderElect bool `json:"leaderElect"`

	// Mode is lease (default) or forLife. A lease is renewed, and another replica takes over when it
	// is not. A lock for life is the same Lease, owned by the leader's Pod: it goes when the Pod does,
	// and no clock decides.
	Mode string `json:"mode,omitempty"`

	// ResourceName is the Lease. Defaults to fairlead-manager.
	ResourceName string `json:"resourceName,omitempty"`

	// ResourceNamespace is the Lease's namespace. Defaults to the operator's own.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`

	// ID names this replica; it must be unique. Defaults to the host name and a random part.
	ID string `json:"id,omitempty"`

	// LeaseDuration is how long replicas wait for a silent leader before they take over. The
	// default is 15s; the resolution is one second.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty"`

	// RenewDeadline is how long after its last renewal a leader that cannot renew stops leading.
	// Defaults to 10s; it must be below LeaseDuration, or two would lead. The next renewal begins after the response to
	// the last: a replica whose requests take half of it cannot lead.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty"`

	// RetryPeriod is the time between renewals and between attempts. Defaults to 2s.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
}

// Metrics is the server of /metrics.
type Metrics struct {
	// BindAddress is where metrics are served. Defaults to :8443, "0" means not at all.
	BindAddress string `json:"bindAddress,omitempty"`

	// Secure serves over TLS and lets in only who the API server authenticates and authorizes
	// for GET /metrics. Defaults to true.
	Secure bool `json:"secure"`

	// CertDir holds tls.crt and tls.key. Empty means a self-signed certificate in memory.
	CertDir string `json:"certDir,omitempty"`
}

// Health is the server of /healthz, /readyz and /statusz.
type Health struct {
	// BindAddress is where the probes answer, without TLS. Defaults to :8081, "0" means not
	// at all.
	BindAddress string `json:"bindAddress,omitempty"`
}

// Profiling opts in to net/http/pprof.
type Profiling struct {
	// BindAddress is a loopback address on which profiles are served without any check. Empty
	// means not at all, and is the default.
	BindAddress string `json:"bindAddress,omitempty"`

	// OnMetrics serves profiles under /debug/pprof/ of the metrics server, behind its
	// authentication and authorization. Defaults to false.
	OnMetrics bool `json:"onMetrics,omitempty"`
}

// Logging is the format and the level of the log.
type Logging struct {
	// Format is json (default) or text.
	Format string `json:"format,omitempty"`

	// Level is error, info (default), debug, or a number from 1 to 7 for ever more detail.
	Level Level `json:"level,omitempty"`
}

// Level is a string, or a number in a file.
type Level string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Level) UnmarshalJSON(value []byte) error {
	var number json.Number
	if err := json.Unmarshal(value, &number); err == nil {
		*l = Level(number)
		return nil
	}
	return json.Unmarshal(value, (*string)(l))
}

// ReconcilesEveryNamespace reports whether a process with this configuration reconciles the objects of all namespaces,
// once it leads.
func (c *Configuration) ReconcilesEveryNamespace() bool {
	return c.Controllers.Enabled && len(c.Namespaces) == 0 && c.Shard.Name == ""
}

// HasClusterRole reports whether the operator has rights to what lies in no namespace. One that neither uses the cluster
// nor publishes its CA bundle may have none (config/namespaced/without-cluster-role).
func (c *Configuration) HasClusterRole() bool {
	return c.ClusterAccess || c.Webhook.Certificates.InjectCA
}

// Default returns the configuration of a file that says nothing.
func Default() *Configuration {
	return &Configuration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		ClientConnection: ClientConnection{
			QPS:          -1,
			Burst:        200,
			StartTimeout: duration(60 * time.Second),
		},
		Service:       Service{Name: "fairlead-webhook"},
		ClusterAccess: true,
		Controllers: Controllers{
			Enabled: true,
			Concurrency: map[string]int{
				"ExternalService": 10,
				"RebootPolicy":    10,
				"ChaosPod":        2,
			},
			CacheSyncTimeout: duration(5 * time.Minute),
			Warmup:           true,
		},
		ExternalServices: defaultExternalServices(),
		RebootPolicies:   defaultRebootPolicies(),
		Calendar:         Calendar{ConfigMap: "fairlead-calendar"},
		StorageMigration: StorageMigration{Enabled: true, Rate: 20, Settle: duration(30 * time.Second)},
		Egress:           defaultEgress(),
		Webhook: Webhook{
			Enabled:      true,
			Port:         9443,
			MaxBodyBytes: 4 << 20,
			DrainDelay:   duration(10 * time.Second),
			DrainTimeout: duration(40 * time.Second),

			MutatingConfiguration:   "fairlead-mutating",
			ValidatingConfiguration: "fairlead-validating",

			TLS: TLS{MinVersion: "VersionTLS13"},
			Certificates: Certificates{
				Source:            SourceSelfSigned,
				SecretName:        "fairlead-webhook-ca",
				InjectCA:          true,
				Validity:          duration(7 * 24 * time.Hour),
				AuthorityValidity: duration(10 * 365 * 24 * time.Hour),
				CertManager: CertManager{
					IssuerKind: IssuerKind, IssuerGroup: "cert-manager.io",
					Certificate: "fairlead-webhook", SecretName: "fairlead-webhook-tls",
				},
			},
		},
		LeaderElection: LeaderElection{
			LeaderElect:   true,
			Mode:          ElectionLease,
			ResourceName:  "fairlead-manager",
			LeaseDuration: duration(15 * time.Second),
			RenewDeadline: duration(10 * time.Second),
			RetryPeriod:   duration(2 * time.Second),
		},
		Metrics:                 Metrics{BindAddress: ":8443", Secure: true},
		Health:                  Health{BindAddress: ":8081"},
		Logging:                 Logging{Format: "json", Level: "info"},
		GracefulShutdownTimeout: duration(65 * time.Second),
	}
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
