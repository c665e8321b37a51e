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

// configuration is one of the two webhook configurations. What is checked of its webhooks, both kinds have.
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

// checkWebhooks checks that the webhook configurations are there, cover all kinds, and lead to the operator.
func (r *run) checkWebhooks(ctx context.Context) {
	d, found := r.serving()
	if !found {
		return
	}
	api, names := r.options.Kubernetes.AdmissionregistrationV1(), d.configuration.Webhook
	mutating, err := api.MutatingWebhookConfigurations().Get(ctx, names.MutatingConfiguration, metav1.GetOptions{})
	var hooks []admissionregistrationv1.ValidatingWebhook
	if err == nil {
		for _, h := range mutating.Webhooks {
			hooks = append(hooks, admissionregistrationv1.ValidatingWebhook{
				Name: h.Name, Rules: h.Rules, NamespaceSelector: h.NamespaceSelector, ClientConfig: h.ClientConfig, FailurePolicy: h.FailurePolicy,
			})
		}
	}
	r.checkConfiguration("MutatingWebhookConfiguration", names.MutatingConfiguration, d, hooks, err)
	validating, err := api.ValidatingWebhookConfigurations().Get(ctx, names.ValidatingConfiguration, metav1.GetOptions{})
	if err == nil {
		hooks = validating.Webhooks
	}
	r.checkConfiguration("ValidatingWebhookConfiguration", names.ValidatingConfiguration, d, hooks, err)
}

// checkConfiguration checks the webhooks of a configuration, or tells why it could not be read.
func (r *run) checkConfiguration(kind, name string, d deployment, hooks []admissionregistrationv1.ValidatingWebhook, err error) {
	const remedy = "apply the manifests of this installation"
	c := configuration{kind + " " + name, hooks}
	if err != nil {
		right := "get on " + strings.ToLower(kind) + "s.admissionregistration.k8s.io"
		r.results = append(r.results, unread(CheckWebhooks, c.object, right, err, remedy))
		return
	}
	r.configurations = append(r.configurations, c)
	result := Result{CheckWebhooks, c.object, OK, "covers all kinds", ""}
	for _, kind := range r.definitions {
		if c.hookOf(kind) == nil {
			result = Result{CheckWebhooks, c.object, Failed, "it has no webhook for " + kind.crd.Name, remedy}
		}
	}
	for _, kind := range r.others {
		if h := c.hookOf(kind); h != nil {
			result = Result{CheckWebhooks, c.object, Failed,
				"webhook " + h.Name + " is of a kind that the operator's configuration leaves out, so that writes of it are refused", remedy}
		}
	}
	for _, h := range hooks {
		service := h.ClientConfig.Service
		if service != nil && (service.Namespace != r.namespace || service.Name != d.configuration.Service.Name) {
			result = Result{CheckWebhooks, c.object, Failed,
				fmt.Sprintf("webhook %s names Service %s/%s, and the operator serves at %s/%s", h.Name, service.Namespace, service.Name, r.namespace, d.configuration.Service.Name),
				remedy}
		}
	}
	r.results = append(r.results, result)
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
