// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// APIVersion is the apiVersion of the configuration file.
	APIVersion = "config.fairlead.dev/v1alpha1"

	// Kind is the kind of the configuration file.
	Kind = "FairleadConfiguration"

	// Off is the bind address that switches a server off.
	Off = "0"
)

// Configuration is everything that can be configured of `fairlead manager`. A part of it is documented at its type.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`

	ClientConnection ClientConnection `json:"clientConnection,omitempty"`

	// Kinds that the operator serves webhooks for, converts, caches and reconciles. It needs no right to what another kind is for.
	// While objects of a kind exist, do not take it out: nothing would take off the finalizer of an ExternalService. All replicas
	// need the same. With RebootPolicy comes ClusterRebootPolicy. See docs/guides/install-scope.md.
	Kinds []string `json:"kinds,omitempty" default:"[ExternalService, RebootPolicy, ChaosPod]"`

	// Namespaces whose objects are cached and reconciled. Empty: all. Webhooks answer for every namespace that their
	// configurations name.
	Namespaces []string `json:"namespaces,omitempty"`

	// Use what lies in no namespace. False is for an operator that has Roles in `namespaces` alone: it reads no nodes and
	// service ranges, so that `egress.clusterCIDRs` is required, asks for writers' rights namespace by
	// namespace, and writes Events about cluster-scoped objects to its Lease. Not with mode forLife of `leaderElection`. See
	// docs/guides/install-scope.md.
	ClusterAccess bool `json:"clusterAccess" default:"true"`

	// How long an orderly stop may take: reconcilers, release of the Lease, webhook drain, caches. Where webhooks are served,
	// it must not be less than `webhook.drainDelay` and `webhook.drainTimeout` together; what is left is for the reconcilers.
	// A pod needs a terminationGracePeriodSeconds above it.
	GracefulShutdownTimeout metav1.Duration `json:"gracefulShutdownTimeout,omitempty" default:"65s" rule:"positive"`

	Controllers      Controllers      `json:"controllers,omitempty"`
	Calendar         Calendar         `json:"calendar,omitempty"`
	ExternalServices ExternalServices `json:"externalServices,omitempty"`
	RebootPolicies   RebootPolicies   `json:"rebootPolicies,omitempty"`
	ChaosPods        ChaosPods        `json:"chaosPods,omitempty"`
	Notifications    Notifications    `json:"notifications,omitempty"`
	Egress           Egress           `json:"egress,omitempty"`
	Service          Service          `json:"service,omitempty"`
	Webhook          Webhook          `json:"webhook,omitempty"`
	LeaderElection   LeaderElection   `json:"leaderElection,omitempty"`
	Metrics          Metrics          `json:"metrics,omitempty"`
	Health           Health           `json:"health,omitempty"`
	Profiling        Profiling        `json:"profiling,omitempty"`
	Logging          Logging          `json:"logging,omitempty"`
	Tracing          Tracing          `json:"tracing,omitempty"`
}

// ClientConnection configures how the API server is reached.
type ClientConnection struct {
	// Kubeconfig of the cluster. Empty: KUBECONFIG, the pod's service account, or ~/.kube/config, in this order.
	Kubeconfig string `json:"kubeconfig,omitempty"`

	// Requests per second to the API server on average. -1 leaves throttling to the API server's priority and fairness: what
	// is in flight is bounded by `controllers.concurrency`, and a limit here would hold back a failover of many objects.
	// Election is not limited.
	QPS float32 `json:"qps,omitempty" default:"-1"`

	// How many requests may be sent at once where `qps` limits them.
	Burst int `json:"burst,omitempty" default:"200"`

	// How long an API server that does not answer is retried at start.
	StartTimeout metav1.Duration `json:"startTimeout,omitempty" default:"60s" rule:"positive"`
}

// Service names the Service and the namespace through which the API server reaches the webhooks.
type Service struct {
	// Namespace of the operator. Empty: POD_NAMESPACE, or the namespace of the service account.
	Namespace string `json:"namespace,omitempty" rule:"label,optional"`

	// Service through which the API server reaches the webhooks.
	Name string `json:"name,omitempty" default:"fairlead-webhook" rule:"label"`
}

// Controllers configures how objects are reconciled.
type Controllers struct {
	// Reconcile. False: this replica only serves webhooks, takes part in no election and leads nothing.
	// See docs/guides/high-availability.md.
	Enabled bool `json:"enabled" default:"true"`

	// Objects that are reconciled at the same time, by kind.
	Concurrency map[string]int `json:"concurrency,omitempty" default:"{ExternalService: 10, RebootPolicy: 10, ChaosPod: 2}" rule:"1..1000"`

	// How long the first LIST of a kind may take. A kind that is stored at its other version is converted object by object,
	// and the two minutes that are usual are not enough for many objects (kubernetes-sigs/controller-runtime#1786).
	CacheSyncTimeout metav1.Duration `json:"cacheSyncTimeout,omitempty" default:"5m" rule:"positive"`

	// Keep the caches of replicas that do not lead filled, so that they take over at once. False saves their memory.
	Warmup bool `json:"warmup" default:"true"`
}

const (
	// ElectionLease elects by a Lease that is renewed.
	ElectionLease = "lease"
	// ElectionForLife elects by a lock that its holder's Pod owns.
	ElectionForLife = "forLife"
)

// LeaderElection configures how replicas agree on the one that reconciles.
type LeaderElection struct {
	// Elect the one replica that reconciles. Without it every replica reconciles, and there must be one only.
	LeaderElect bool `json:"leaderElect" default:"true"`

	// A lease is renewed, and another replica takes over when it is not. With forLife it is the same Lease, owned by the
	// leader's Pod: it goes with the Pod, and no clock decides.
	Mode string `json:"mode,omitempty" default:"lease" rule:"lease|forLife"`

	// Name of the Lease.
	ResourceName string `json:"resourceName,omitempty" default:"fairlead-manager" rule:"subdomain"`

	// Namespace of the Lease. Empty: the operator's own.
	ResourceNamespace string `json:"resourceNamespace,omitempty" rule:"label,optional"`

	// Identity of this replica; unique. Empty: host name and a random part.
	ID string `json:"id,omitempty"`

	// How long replicas wait for a silent leader before they take over; whole seconds, above `renewDeadline`.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty" default:"15s" rule:"positive"`

	// How long after its last renewal a leader that cannot renew stops leading; above 1.2 times `retryPeriod`. A request may
	// take half of it: raise it, and `leaseDuration`, where the API server takes longer.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty" default:"10s" rule:"positive"`

	// Time between renewals. Other replicas look ten times as often whether they may take over; for life, twice.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty" default:"2s" rule:"positive"`
}

// Metrics is the server of /metrics.
type Metrics struct {
	// Address of /metrics; 0 for off.
	BindAddress string `json:"bindAddress,omitempty" default:":8443" rule:"address"`

	// Serve over TLS, to those whom the API server authenticates and authorizes for GET /metrics.
	Secure bool `json:"secure" default:"true"`

	// Folder with tls.crt and tls.key. Empty: self-signed in memory.
	CertDir string `json:"certDir,omitempty"`
}

// Health is the server of /healthz, /readyz and /statusz.
type Health struct {
	// Address of /healthz, /readyz and /statusz, without TLS; 0 for off.
	BindAddress string `json:"bindAddress,omitempty" default:":8081" rule:"address"`
}

// Profiling opts in to net/http/pprof. It is off by default.
type Profiling struct {
	// Loopback address on which profiles are served without any check. Empty: off.
	BindAddress string `json:"bindAddress,omitempty" rule:"address,optional"`

	// Serve profiles under /debug/pprof/ of the metrics server, to those whom the API server authorizes.
	OnMetrics bool `json:"onMetrics,omitempty" default:"false"`
}

// Logging is the format and the level of the log.
type Logging struct {
	// Format of the log.
	Format string `json:"format,omitempty" default:"json" rule:"json|text"`

	// error, info, debug, or a number from 1 to 7 for ever more detail. Above 7 client-go would log the bodies of requests,
	// among them Secrets.
	Level Level `json:"level,omitempty" default:"info"`
}

// Tracing configures the spans of OpenTelemetry: of the webhooks' calls, of reconciles, and of the requests to the API server.
type Tracing struct {
	// Address of a collector that takes OTLP over gRPC, such as `localhost:4317`. As for the components of Kubernetes, it is reached
	// without TLS: name a sidecar, or an agent on the node. Empty: off.
	Endpoint string `json:"endpoint" default:"" rule:"address,optional"`

	// How many of a million reconciles are traced, and of the calls of webhooks that come without a trace. What the API server
	// traces is traced here as well.
	SamplingRatePerMillion int32 `json:"samplingRatePerMillion" default:"0" rule:"0..1000000"`
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
	return c.Controllers.Enabled && len(c.Namespaces) == 0
}

// HasClusterRole reports whether the operator has rights to what lies in no namespace. One that neither uses the cluster
// nor publishes its CA bundle may have none (config/namespaced/without-cluster-role).
func (c *Configuration) HasClusterRole() bool {
	return c.ClusterAccess || c.Webhook.Certificates.InjectCA
}

// HasKind reports whether the operator has a kind, such as ExternalService. ClusterRebootPolicies come with RebootPolicies.
func (c *Configuration) HasKind(kind string) bool {
	if kind == "ClusterRebootPolicy" {
		return c.HasKind("RebootPolicy")
	}
	return slices.Contains(c.Kinds, kind)
}

// HasCanaries reports whether the operator makes pods.
func (c *Configuration) HasCanaries() bool { return c.HasKind("ChaosPod") && c.ChaosPods.Canaries }

// KindsText returns the operator's kinds as text, such as "ExternalService, RebootPolicy".
func (c *Configuration) KindsText() string {
	text := strings.Join(c.Kinds, ", ")
	if c.HasKind("ChaosPod") && !c.ChaosPods.Canaries {
		text += " (without canaries)"
	}
	return text
}

// Default returns the configuration of a file that says nothing.
func Default() *Configuration {
	c := &Configuration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}}
	setDefaults(reflect.ValueOf(c).Elem())
	return c
}
