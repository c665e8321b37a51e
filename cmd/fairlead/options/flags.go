// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"
)

// Flags are the command line flags of the manager, in named groups. They override the
// configuration file, and only those that were given.
type Flags struct {
	// Groups are the flags by group, for a flag set and for help.
	Groups cliflag.NamedFlagSets

	file  string
	given *Configuration
	apply map[string]func(from, to *Configuration)
}

// NewFlags declares the flags. Their defaults are those of Default.
func NewFlags() *Flags {
	f := &Flags{given: Default(), apply: map[string]func(from, to *Configuration){}}
	f.Groups.FlagSet("general").StringVar(&f.file, "config", "",
		"Configuration file, "+APIVersion+" "+Kind+". Flags override what it says.")
	f.declare()
	return f
}

// Configuration reads the file, if one was named, lays the flags that were given over it, and
// validates the whole.
func (f *Flags) Configuration() (*Configuration, error) { return f.configuration(Load) }

// FromArguments returns the configuration of a manager that is started with the arguments, the word manager
// included, such as those of a container. Flags that this version does not know are passed over. load returns
// the file that the arguments name.
func FromArguments(arguments []string, load func(path string) (*Configuration, error)) (*Configuration, error) {
	f := NewFlags()
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true
	for _, group := range f.Groups.FlagSets {
		set.AddFlagSet(group)
	}
	if err := set.Parse(arguments); err != nil {
		return nil, err
	}
	return f.configuration(load)
}

func (f *Flags) configuration(load func(path string) (*Configuration, error)) (*Configuration, error) {
	configuration := Default()
	if f.file != "" {
		var err error
		if configuration, err = load(f.file); err != nil {
			return nil, err
		}
	}
	for _, group := range f.Groups.FlagSets {
		// The command parses a set of its own that shares these flags: only the flag records that it
		// was given, its group does not.
		group.VisitAll(func(flag *pflag.Flag) {
			if carry, ok := f.apply[flag.Name]; ok && flag.Changed {
				carry(f.given, configuration)
			}
		})
	}
	if errs := configuration.Validate(); len(errs) > 0 {
		where := "flags"
		if f.file != "" {
			where = "configuration file " + f.file + " with its flags"
		}
		return nil, fmt.Errorf("%s: %w", where, errs.ToAggregate())
	}
	return configuration, nil
}

// group is a flag set that declares flags of f.
type group struct {
	flags *Flags
	set   *pflag.FlagSet
}

// flag declares a flag for one field. The field is found by a function rather than by a pointer,
// because it is read in one configuration and carried to another.
func flag[T any](g group, name string, field func(*Configuration) *T, usage string) {
	switch value := any(field(g.flags.given)).(type) {
	case *string:
		g.set.StringVar(value, name, *value, usage)
	case *bool:
		g.set.BoolVar(value, name, *value, usage)
	case *int:
		g.set.IntVar(value, name, *value, usage)
	case *int64:
		g.set.Int64Var(value, name, *value, usage)
	case *float32:
		g.set.Float32Var(value, name, *value, usage)
	case *[]string:
		g.set.StringSliceVar(value, name, *value, usage)
	case *metav1.Duration:
		g.set.DurationVar(&value.Duration, name, value.Duration, usage)
	default:
		// Reached by a flag of a type not listed above, that is, by every test of this package.
		panic(fmt.Sprintf("flag %s: no flag for a %T", name, value)) //nolint:forbidigo // a mistake in the code, see above
	}
	g.flags.apply[name] = func(from, to *Configuration) { *field(to) = *field(from) }
}

// concurrency declares the flag for controllers.concurrency, which overrides kind by kind.
func (g group) concurrency(name, usage string) {
	given := map[string]int{}
	g.set.StringToIntVar(&given, name, given, usage)
	g.flags.apply[name] = func(_, to *Configuration) { maps.Copy(to.Controllers.Concurrency, given) }
}

// declare lists every flag, group by group. Names that Kubernetes components share keep the
// name they have there.
func (f *Flags) declare() {
	in := func(name string) group { return group{flags: f, set: f.Groups.FlagSet(name)} }
	f.general(in("general"))
	f.externalServices(in("external services"))
	f.rebootPolicies(in("reboot policies"))
	f.webhook(in("webhook"))
	f.election(in("leader election"))
	f.serving(in("metrics, probes and profiles"))
	f.logging(in("logging"))
}

func (f *Flags) general(g group) {
	flag(g, "kubeconfig", func(c *Configuration) *string { return &c.ClientConnection.Kubeconfig },
		"Kubeconfig of the cluster. Empty: KUBECONFIG, the pod's service account, or ~/.kube/config.")
	flag(g, "kube-api-qps", func(c *Configuration) *float32 { return &c.ClientConnection.QPS },
		"Requests per second to the API server; -1 for no limit. Election is not limited.")
	flag(g, "kube-api-burst", func(c *Configuration) *int { return &c.ClientConnection.Burst },
		"Burst of requests to the API server.")
	flag(g, "kube-api-start-timeout", func(c *Configuration) *metav1.Duration { return &c.ClientConnection.StartTimeout },
		"How long an API server that does not answer is retried at start.")
	flag(g, "webhooks", func(c *Configuration) *bool { return &c.Webhook.Enabled },
		"Serve webhooks. False: this replica only reconciles, and others must serve.")
	flag(g, "controllers", func(c *Configuration) *bool { return &c.Controllers.Enabled },
		"Reconcile. False: this replica only serves webhooks, and takes part in no election.")
	flag(g, "namespaces", func(c *Configuration) *[]string { return &c.Namespaces },
		"Namespaces to reconcile, separated by commas. Empty: all.")
	flag(g, "cluster-access", func(c *Configuration) *bool { return &c.ClusterAccess },
		"Use what lies in no namespace: nodes, service ranges, storage migration. False: needs --namespaces and --cluster-cidrs.")
	flag(g, "shard", func(c *Configuration) *string { return &c.Shard.Name },
		"Name of the part of the namespaces to reconcile. Empty: there is one part.")
	flag(g, "shard-namespace-selector", func(c *Configuration) *string { return &c.Shard.NamespaceSelector },
		"Labels of the namespaces of the shard, such as fairlead.dev/shard=a.")
	flag(g, "storage-migration", func(c *Configuration) *bool { return &c.StorageMigration.Enabled },
		"Rewrite objects that are stored at an old version, on the elected replica.")
	flag(g, "storage-migration-rate", func(c *Configuration) *int { return &c.StorageMigration.Rate },
		"Objects that the migration rewrites in a second.")
	flag(g, "storage-migration-settle", func(c *Configuration) *metav1.Duration { return &c.StorageMigration.Settle },
		"How long a storage version must have been seen before the migration begins.")
	flag(g, "calendar-config-map", func(c *Configuration) *string { return &c.Calendar.ConfigMap },
		"ConfigMap of the operator's namespace with blackouts of the whole cluster. Empty: none.")
	g.concurrency("concurrency", "Objects reconciled at the same time, by kind, such as ExternalService=20,ChaosPod=4.")
	flag(g, "cache-sync-timeout", func(c *Configuration) *metav1.Duration { return &c.Controllers.CacheSyncTimeout },
		"How long the first LIST of a kind may take.")
	flag(g, "warmup", func(c *Configuration) *bool { return &c.Controllers.Warmup },
		"Keep the caches of replicas that do not lead filled, so that they take over at once.")
	flag(g, "graceful-shutdown-timeout", func(c *Configuration) *metav1.Duration { return &c.GracefulShutdownTimeout },
		"How long an orderly stop may take.")
}

func (f *Flags) externalServices(g group) {
	flag(g, "dns-nameservers", func(c *Configuration) *[]string { return &c.ExternalServices.Nameservers },
		"Nameservers for names outside the cluster, as address or address:port. Empty: those of /etc/resolv.conf.")
	flag(g, "cluster-domain", func(c *Configuration) *string { return &c.ExternalServices.ClusterDomain },
		"DNS domain of the cluster; names that lead into it are refused.")
	flag(g, "resolve-workers", func(c *Configuration) *int { return &c.ExternalServices.ResolveWorkers },
		"Names looked up at once.")
	flag(g, "probe-workers", func(c *Configuration) *int { return &c.ExternalServices.ProbeWorkers },
		"Health checks that run at once; one namespace takes at most half of them.")
	flag(g, "drain-period", func(c *Configuration) *metav1.Duration { return &c.ExternalServices.DrainPeriod },
		"How long endpoints are marked as terminating before the Service of a deleted ExternalService is deleted.")
	flag(g, "cluster-cidrs", func(c *Configuration) *[]string { return &c.Egress.ClusterCIDRs },
		"Ranges of the cluster that cannot be discovered, separated by commas.")
	flag(g, "egress-default", func(c *Configuration) *string { return &c.Egress.Default },
		"What becomes of addresses that no entry of the egress policy is about: "+EgressAllow+" or "+EgressDeny+".")
}

func (f *Flags) rebootPolicies(g group) {
	flag(g, "max-restarts", func(c *Configuration) *int { return &c.RebootPolicies.MaxRestarts },
		"Workloads of the whole cluster that restart at once.")
	flag(g, "sources", func(c *Configuration) *string { return &c.RebootPolicies.Sources },
		"How changes of ConfigMaps and Secrets are noticed: "+SourcesWatch+", or "+SourcesPoll+", which needs no right to list them.")
	flag(g, "sources-poll-interval", func(c *Configuration) *metav1.Duration { return &c.RebootPolicies.SourcesPollInterval },
		"Time between two reads of a source under "+SourcesPoll+".")
	flag(g, "reboot-probe-workers", func(c *Configuration) *int { return &c.RebootPolicies.ProbeWorkers },
		"Checks of Probe triggers that run at once; one namespace takes at most half of them.")
	flag(g, "fingerprint-secret", func(c *Configuration) *string { return &c.RebootPolicies.FingerprintSecret },
		"Secret of the operator's namespace with the key of the fingerprints; made where there is none.")
}

func (f *Flags) webhook(g group) {
	flag(g, "service-namespace", func(c *Configuration) *string { return &c.Service.Namespace },
		"Namespace of the operator. Empty: POD_NAMESPACE, or the namespace of the service account.")
	flag(g, "service-name", func(c *Configuration) *string { return &c.Service.Name },
		"Service through which the API server reaches the webhooks.")
	flag(g, "webhook-host", func(c *Configuration) *string { return &c.Webhook.Host },
		"Address the webhook server listens on. Empty: all.")
	flag(g, "webhook-port", func(c *Configuration) *int { return &c.Webhook.Port },
		"Port the webhook server listens on.")
	flag(g, "webhook-max-body-bytes", func(c *Configuration) *int64 { return &c.Webhook.MaxBodyBytes },
		"Largest request, in bytes.")
	flag(g, "webhook-drain-delay", func(c *Configuration) *metav1.Duration { return &c.Webhook.DrainDelay },
		"How long a stopping webhook server goes on accepting while it is not ready.")
	flag(g, "webhook-drain-timeout", func(c *Configuration) *metav1.Duration { return &c.Webhook.DrainTimeout },
		"How long requests in flight may take after that.")
	flag(g, "mutating-configuration", func(c *Configuration) *string { return &c.Webhook.MutatingConfiguration },
		"MutatingWebhookConfiguration in which the root is published.")
	flag(g, "validating-configuration", func(c *Configuration) *string { return &c.Webhook.ValidatingConfiguration },
		"ValidatingWebhookConfiguration in which the root is published.")
	flag(g, "webhook-tls-min-version", func(c *Configuration) *string { return &c.Webhook.TLS.MinVersion },
		"Lowest version of TLS: "+strings.Join(tlsVersions, " or ")+". The metrics server follows it.")
	flag(g, "webhook-tls-cipher-suites", func(c *Configuration) *[]string { return &c.Webhook.TLS.CipherSuites },
		"Cipher suites for TLS 1.2. Empty: Go's choice. Names: "+strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+".")
	flag(g, "webhook-certificates", func(c *Configuration) *string { return &c.Webhook.Certificates.Source },
		"Where the serving certificate comes from: "+SourceSelfSigned+", "+SourceCertManager+" or "+SourceFolder+".")
	flag(g, "webhook-certificates-folder", func(c *Configuration) *string { return &c.Webhook.Certificates.Folder },
		"Folder with tls.crt, tls.key and ca.crt, for --webhook-certificates="+SourceFolder+".")
	flag(g, "webhook-certificates-secret", func(c *Configuration) *string { return &c.Webhook.Certificates.SecretName },
		"Secret with the root that replicas share, for --webhook-certificates="+SourceSelfSigned+".")
	flag(g, "webhook-dns-names", func(c *Configuration) *[]string { return &c.Webhook.Certificates.DNSNames },
		"Further names or addresses of the certificate, beside those of the Service.")
	flag(g, "webhook-certificates-validity", func(c *Configuration) *metav1.Duration { return &c.Webhook.Certificates.Validity },
		"How long a serving certificate is valid; it is renewed after two thirds of that.")
	flag(g, "webhook-authority-validity", func(c *Configuration) *metav1.Duration { return &c.Webhook.Certificates.AuthorityValidity },
		"How long the root is valid, for --webhook-certificates="+SourceSelfSigned+".")
	flag(g, "webhook-inject-ca", func(c *Configuration) *bool { return &c.Webhook.Certificates.InjectCA },
		"Publish the root in the webhook configurations and CRDs.")
	flag(g, "webhook-client-ca-file", func(c *Configuration) *string { return &c.Webhook.Clients.CAFile },
		"PEM file with the authorities of the clients' certificates. Empty: clients need no certificate.")
	flag(g, "webhook-client-names", func(c *Configuration) *[]string { return &c.Webhook.Clients.Names },
		"Common names or DNS names of which a client's certificate must have one. Empty: any of the authorities.")
	f.certManager(g)
}

func (f *Flags) certManager(g group) {
	of := func(c *Configuration) *CertManager { return &c.Webhook.Certificates.CertManager }
	flag(g, "cert-manager-issuer", func(c *Configuration) *string { return &of(c).IssuerName },
		"Issuer of the certificate, for --webhook-certificates="+SourceCertManager+". Empty: one is made.")
	flag(g, "cert-manager-issuer-kind", func(c *Configuration) *string { return &of(c).IssuerKind },
		"Kind of the issuer: "+IssuerKind+", "+ClusterIssuerKind+", or that of an external issuer.")
	flag(g, "cert-manager-issuer-group", func(c *Configuration) *string { return &of(c).IssuerGroup },
		"API group of the issuer.")
	flag(g, "cert-manager-certificate", func(c *Configuration) *string { return &of(c).Certificate },
		"Name of the Certificate; made where there is none.")
	flag(g, "cert-manager-secret", func(c *Configuration) *string { return &of(c).SecretName },
		"Secret that the Certificate fills.")
	flag(g, "cert-manager-fallback", func(c *Configuration) *bool { return &of(c).Fallback },
		"Use "+SourceSelfSigned+" while cert-manager is not installed.")
}

func (f *Flags) election(g group) {
	flag(g, "leader-elect", func(c *Configuration) *bool { return &c.LeaderElection.LeaderElect },
		"Elect the one replica that reconciles. Without election there must be one replica only.")
	flag(g, "leader-elect-mode", func(c *Configuration) *string { return &c.LeaderElection.Mode },
		"How: "+ElectionLease+", renewed again and again, or "+ElectionForLife+", a lock that goes with the pod.")
	flag(g, "lease-lock-name", func(c *Configuration) *string { return &c.LeaderElection.ResourceName },
		"Name of the Lease.")
	flag(g, "lease-lock-namespace", func(c *Configuration) *string { return &c.LeaderElection.ResourceNamespace },
		"Namespace of the Lease. Empty: the operator's own.")
	flag(g, "id", func(c *Configuration) *string { return &c.LeaderElection.ID },
		"Identity of this replica; unique. Empty: host name and a random part.")
	flag(g, "leader-elect-lease-duration", func(c *Configuration) *metav1.Duration { return &c.LeaderElection.LeaseDuration },
		"How long replicas wait for a silent leader before they take over; whole seconds.")
	flag(g, "leader-elect-renew-deadline", func(c *Configuration) *metav1.Duration { return &c.LeaderElection.RenewDeadline },
		"How long after its last renewal a leader that cannot renew stops leading.")
	flag(g, "leader-elect-retry-period", func(c *Configuration) *metav1.Duration { return &c.LeaderElection.RetryPeriod },
		"Time between renewals, and between attempts.")
}

func (f *Flags) serving(g group) {
	flag(g, "metrics-bind-address", func(c *Configuration) *string { return &c.Metrics.BindAddress },
		"Address of /metrics; 0 for off.")
	flag(g, "metrics-secure", func(c *Configuration) *bool { return &c.Metrics.Secure },
		"Serve metrics over TLS, to those whom the API server authorizes.")
	flag(g, "metrics-cert-dir", func(c *Configuration) *string { return &c.Metrics.CertDir },
		"Folder with tls.crt and tls.key for metrics. Empty: self-signed in memory.")
	flag(g, "health-probe-bind-address", func(c *Configuration) *string { return &c.Health.BindAddress },
		"Address of /healthz, /readyz and /statusz; 0 for off.")
	flag(g, "pprof-bind-address", func(c *Configuration) *string { return &c.Profiling.BindAddress },
		"Loopback address on which profiles are served without any check. Empty: off.")
	flag(g, "pprof-on-metrics", func(c *Configuration) *bool { return &c.Profiling.OnMetrics },
		"Serve profiles under /debug/pprof/ of the metrics server, to those whom the API server authorizes.")
}

func (f *Flags) logging(g group) {
	flag(g, "log-format", func(c *Configuration) *string { return &c.Logging.Format },
		"Log format. One of: json, text.")
	const level = "log-level"
	at := func(c *Configuration) *string { return (*string)(&c.Logging.Level) }
	// -v is what every component of Kubernetes calls it.
	g.set.StringVarP(at(g.flags.given), level, "v", *at(g.flags.given),
		"Log level: error, info, debug, or a number from 1 to 7 for ever more detail.")
	g.flags.apply[level] = func(from, to *Configuration) { *at(to) = *at(from) }
}
