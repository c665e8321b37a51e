// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// allKinds are those that `kinds` and controllers.concurrency may name.
func allKinds() []string { return Default().Kinds }

// Validate returns every problem of the configuration, with the paths of the fields.
func (c *Configuration) Validate() field.ErrorList {
	errs := c.validateRoles()
	errs = append(errs, checkRules(nil, *c)...)
	errs = append(errs, c.validateKinds(field.NewPath("kinds"))...)
	errs = append(errs, c.ClientConnection.validate(field.NewPath("clientConnection"))...)
	errs = append(errs, checkRules(field.NewPath("service"), c.Service)...)
	errs = append(errs, namespaces(field.NewPath("namespaces"), c.Namespaces)...)
	errs = append(errs, c.validateClusterAccess()...)
	errs = append(errs, c.Controllers.validate(field.NewPath("controllers"))...)
	errs = append(errs, c.ExternalServices.validate(field.NewPath("externalServices"))...)
	errs = append(errs, checkRules(field.NewPath("rebootPolicies"), c.RebootPolicies)...)
	errs = append(errs, validateEndpoint(field.NewPath("rebootPolicies", "prometheus"), c.RebootPolicies.Prometheus.Endpoint(), false)...)
	errs = append(errs, validateWorkloads(field.NewPath("rebootPolicies", "workloads"), c.RebootPolicies.Workloads)...)
	errs = append(errs, c.Notifications.validate(field.NewPath("notifications"))...)
	errs = append(errs, c.Calendar.validate(field.NewPath("calendar"))...)
	errs = append(errs, c.Egress.validate(field.NewPath("egress"))...)
	errs = append(errs, c.Webhook.validate(field.NewPath("webhook"))...)
	errs = append(errs, c.validateWebhookConfigurations(field.NewPath("webhook", "configurations"))...)
	if c.Controllers.Enabled { // otherwise there is no election
		errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	}
	errs = append(errs, c.validateServers()...)
	errs = append(errs, c.Logging.validate(field.NewPath("logging"))...)
	errs = append(errs, checkRules(field.NewPath("tracing"), c.Tracing)...)
	if drain := c.Drain(); c.GracefulShutdownTimeout.Duration < drain {
		errs = append(errs, field.Invalid(field.NewPath("gracefulShutdownTimeout"), c.GracefulShutdownTimeout.Duration.String(),
			"must not be less than webhook.drainDelay and webhook.drainTimeout together, "+drain.String()))
	}
	return errs
}

// Drain is how long the webhook server may take to drain, 0 where there is none.
func (c *Configuration) Drain() time.Duration {
	if !c.Webhook.Enabled {
		return 0
	}
	return c.Webhook.DrainDelay.Duration + c.Webhook.DrainTimeout.Duration
}

// validateRoles demands that there is something to do.
func (c *Configuration) validateRoles() field.ErrorList {
	if c.Webhook.Enabled || c.Controllers.Enabled {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("webhook", "enabled"), false,
		"controllers.enabled is false too, so this replica would do nothing: leave out one of webhook.enabled: false and controllers.enabled: false")}
}

// validateWebhookConfigurations requires a name for each kind, and refuses what is of none.
func (c *Configuration) validateWebhookConfigurations(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !c.Webhook.Enabled {
		return errs
	}
	kinds := append(allKinds(), "ClusterRebootPolicy")
	for _, kind := range kinds {
		if c.HasKind(kind) && c.Webhook.Configuration(kind) == "" {
			errs = append(errs, field.Required(path, "name the one of "+kind+", which ends in -"+strings.ToLower(kind)))
		}
	}
	for i, name := range c.Webhook.Configurations {
		if !slices.ContainsFunc(kinds, func(kind string) bool { return c.Webhook.Configuration(kind) == name }) {
			errs = append(errs, field.Invalid(path.Index(i), name,
				"must end in a hyphen and one of "+strings.ToLower(strings.Join(kinds, ", "))+", each once"))
		}
	}
	return errs
}

func (c *Configuration) validateKinds(path *field.Path) field.ErrorList {
	if len(c.Kinds) == 0 {
		return field.ErrorList{field.Required(path, "name at least one of "+strings.Join(allKinds(), ", "))}
	}
	var errs field.ErrorList
	for i, kind := range c.Kinds {
		if !slices.Contains(allKinds(), kind) {
			errs = append(errs, field.NotSupported(path.Index(i), kind, allKinds()))
		} else if slices.Index(c.Kinds, kind) < i {
			errs = append(errs, field.Duplicate(path.Index(i), kind))
		}
	}
	return errs
}

// validateClusterAccess requires by other options what the cluster would be asked for.
func (c *Configuration) validateClusterAccess() field.ErrorList {
	if c.ClusterAccess {
		return nil
	}
	const because = "clusterAccess is false: "
	var errs field.ErrorList
	if len(c.Namespaces) == 0 {
		errs = append(errs, field.Required(field.NewPath("namespaces"), because+"name the namespaces in which the operator has a Role"))
	}
	if len(c.Egress.ClusterCIDRs) == 0 {
		errs = append(errs, field.Required(field.NewPath("egress", "clusterCIDRs"), because+"name the ranges of nodes, pods and Services, and the addresses of the API servers"))
	}
	if c.LeaderElection.LeaderElect && c.LeaderElection.Mode == ElectionForLife {
		errs = append(errs, field.Invalid(field.NewPath("leaderElection", "mode"), c.LeaderElection.Mode, because+"forLife reads the pod of the leader, for which there is no Role; set lease"))
	}
	return errs
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, c)
	if c.QPS <= 0 && c.QPS != -1 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS, "must be above 0; -1 means no limit"))
	}
	if c.Burst < 0 || c.QPS > 0 && c.Burst == 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be at least 1"))
	}
	return errs
}

func namespaces(path *field.Path, names []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		errs = append(errs, label(path.Index(i), name)...)
		if slices.Index(names, name) < i {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
	}
	return errs
}

func (c Controllers) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, c)
	for kind := range c.Concurrency {
		if !slices.Contains(allKinds(), kind) {
			errs = append(errs, field.NotSupported(path.Child("concurrency").Key(kind), kind, allKinds()))
		}
	}
	return errs
}

func (l LeaderElection) validate(path *field.Path) field.ErrorList {
	if !l.LeaderElect {
		return nil
	}
	errs := checkRules(path, l)
	if len(errs) > 0 {
		return errs
	}
	lease, renew, retry := l.LeaseDuration, l.RenewDeadline, l.RetryPeriod
	if whole := lease.Truncate(1e9); whole != lease.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), lease.Duration.String(), "must be whole seconds: a Lease cannot say less"))
	}
	if lease.Duration <= renew.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), lease.Duration.String(),
			"must be greater than renewDeadline, "+renew.Duration.String()+": otherwise a new leader starts before the old one has stopped"))
	}
	// Six fifths is the jitter of client-go's elector: renewals must get a second chance.
	if renew.Duration <= retry.Duration*6/5 {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), renew.Duration.String(),
			"must be greater than 1.2 times retryPeriod, "+retry.Duration.String()+": otherwise one failed renewal loses the Lease"))
	}
	return errs
}

// validateServers checks the servers beside the webhook's.
func (c *Configuration) validateServers() field.ErrorList {
	metrics, profiling := field.NewPath("metrics"), field.NewPath("profiling")
	errs := checkRules(metrics, c.Metrics)
	errs = append(errs, checkRules(field.NewPath("health"), c.Health)...)
	errs = append(errs, checkRules(profiling, c.Profiling)...)
	if c.Metrics.CertDir != "" && !c.Metrics.Secure {
		errs = append(errs, field.Invalid(metrics.Child("certDir"), c.Metrics.CertDir, "needs metrics.secure"))
	}
	if c.Profiling.OnMetrics && (c.Metrics.BindAddress == Off || !c.Metrics.Secure) {
		errs = append(errs, field.Invalid(profiling.Child("onMetrics"), true, "needs a secure metrics server: profiles reveal memory"))
	}
	if host, _, err := net.SplitHostPort(c.Profiling.BindAddress); err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		errs = append(errs, field.Invalid(profiling.Child("bindAddress"), c.Profiling.BindAddress,
			"must be a loopback address: profiles reveal memory and are served without any check; profiling.onMetrics serves them with one"))
	}
	return errs
}

func (l Logging) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, l)
	if _, err := l.Verbosity(); err != nil {
		errs = append(errs, field.Invalid(path.Child("level"), l.Level, err.Error()))
	}
	return errs
}

// QuietLevel is the verbosity of level error, at which only errors are written.
const QuietLevel = -1

// maxLevel leaves out what client-go logs from 8 on: the bodies of its requests and answers, among
// them the Secret with the webhooks' private key.
const maxLevel = 7

// Verbosity is the level as logr counts: 0 for info, 1 for debug, more for more detail, and
// QuietLevel for errors alone.
func (l Logging) Verbosity() (int, error) {
	switch l.Level {
	case "error":
		return QuietLevel, nil
	case "info", "0":
		return 0, nil
	case "debug":
		return 1, nil
	}
	n, err := strconv.Atoi(string(l.Level))
	if err != nil || n < 1 || n > maxLevel {
		return 0, fmt.Errorf("must be error, info, debug, or a number from 1 to %d (0 is info): above it, client-go would log Secrets", maxLevel)
	}
	return n, nil
}
