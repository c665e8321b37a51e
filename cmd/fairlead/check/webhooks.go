// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configuration is a webhook configuration. What is checked of its webhooks, mutating and validating ones have.
type configuration struct {
	object string
	hooks  []admissionregistrationv1.ValidatingWebhook
}

// serving returns a Deployment that serves webhooks; false where there is none.
func (r *run) serving() (deployment, bool) {
	i := slices.IndexFunc(r.deployments, func(d deployment) bool { return d.configuration.Webhook.Enabled })
	if i < 0 {
		return deployment{}, false
	}
	return r.deployments[i], true
}

// checkWebhooks checks that each kind has its webhook configurations, and that they lead to the operator.
func (r *run) checkWebhooks(ctx context.Context) {
	d, found := r.serving()
	if !found {
		return
	}
	api := r.options.Kubernetes.AdmissionregistrationV1()
	for _, kind := range slices.Concat(r.definitions, r.others) {
		name := d.configuration.Webhook.Configuration(kind.Kind.Kind)
		if name == "" {
			continue
		}
		mutating, err := api.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		var hooks []admissionregistrationv1.ValidatingWebhook
		if err == nil {
			for _, h := range mutating.Webhooks {
				hooks = append(hooks, admissionregistrationv1.ValidatingWebhook{
					Name: h.Name, Rules: h.Rules, NamespaceSelector: h.NamespaceSelector, ClientConfig: h.ClientConfig, FailurePolicy: h.FailurePolicy,
				})
			}
		}
		r.checkConfiguration(configuration{"MutatingWebhookConfiguration " + name, hooks}, kind, d, err)
		validating, err := api.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		hooks = nil
		if err == nil {
			hooks = validating.Webhooks
		}
		r.checkConfiguration(configuration{"ValidatingWebhookConfiguration " + name, hooks}, kind, d, err)
	}
}

// checkConfiguration checks the configuration of a kind, or tells why it could not be read. That of a kind that is left out
// should not be there.
func (r *run) checkConfiguration(c configuration, kind definition, d deployment, err error) {
	const remedy = "apply the manifests of this installation"
	add := func(status Status, message, remedy string) {
		r.results = append(r.results, Result{CheckWebhooks, c.object, status, message, remedy})
	}
	if !d.configuration.HasKind(kind.Kind.Kind) {
		if h := c.hookOf(kind); h != nil && c.foreign(r.namespace, d.configuration.Service.Name) == nil {
			add(Failed, "webhook "+h.Name+" is of a kind that the operator's configuration leaves out, so that writes of it are refused", "delete the object")
		}
		return
	}
	if err != nil {
		right := "get on " + strings.ToLower(strings.Fields(c.object)[0]) + "s.admissionregistration.k8s.io"
		r.results = append(r.results, unread(CheckWebhooks, c.object, right, err, remedy))
		return
	}
	r.configurations = append(r.configurations, c)
	h := c.foreign(r.namespace, d.configuration.Service.Name)
	switch {
	case c.hookOf(kind) == nil:
		add(Failed, "it has no webhook for "+kind.crd.Name, remedy)
	case h != nil:
		add(Failed, fmt.Sprintf("webhook %s names Service %s/%s, and the operator serves at %s/%s",
			h.Name, h.ClientConfig.Service.Namespace, h.ClientConfig.Service.Name, r.namespace, d.configuration.Service.Name), remedy)
	default:
		add(OK, "has the webhook for "+kind.crd.Name, "")
	}
}

// foreign returns a webhook that names another Service; nil where there is none.
func (c configuration) foreign(namespace, name string) *admissionregistrationv1.ValidatingWebhook {
	for i, h := range c.hooks {
		if service := h.ClientConfig.Service; service != nil && (service.Namespace != namespace || service.Name != name) {
			return &c.hooks[i]
		}
	}
	return nil
}

// hookOf returns the webhook for a kind; nil where there is none.
func (c configuration) hookOf(kind definition) *admissionregistrationv1.ValidatingWebhook {
	for i, h := range c.hooks {
		for _, rule := range h.Rules {
			if slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.Resources, kind.Plural) {
				return &c.hooks[i]
			}
		}
	}
	return nil
}
