// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/config"
)

const (
	// maxNamespaces bounds the namespaces in which rights are asked for.
	maxNamespaces = 20
	// maxMissing bounds the rights that a message names.
	maxMissing = 5
)

// checkRights asks whether each ServiceAccount of the operator may do what the shipped roles let it do.
func (r *run) checkRights(ctx context.Context) {
	asked := map[string]bool{} // Deployments that only reconcile run as one account, and need the same
	for _, d := range r.deployments {
		account := cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
		object := "ServiceAccount " + d.Namespace + "/" + account
		needed, err := d.rights()
		if err != nil {
			r.add(CheckRights, object, Unchecked, brief(err), "")
			continue
		}
		question := fmt.Sprint(object, needed)
		if asked[question] {
			continue
		}
		asked[question] = true
		missing, err := r.missing(ctx, "system:serviceaccount:"+d.Namespace+":"+account, d.Namespace, needed)
		switch {
		case apierrors.IsForbidden(err):
			r.add(CheckRights, object, Skipped, "you have no permission to check its rights, which takes create on subjectaccessreviews.authorization.k8s.io", "")
		case err != nil:
			r.add(CheckRights, object, Unchecked, "its rights could not be asked for: "+brief(err), "")
		case len(missing) > 0:
			named := missing[:min(len(missing), maxMissing)]
			r.add(CheckRights, object, Failed, fmt.Sprintf("it lacks %d of %d rights: %s", len(missing), len(needed), strings.Join(named, ", ")),
				"apply the roles and bindings of the operator's version")
		default:
			r.add(CheckRights, object, OK, fmt.Sprintf("it has all %d rights of its roles", len(needed)), "")
		}
	}
}

// rights are those of the roles, with the names of this installation, and only in the namespaces that it is for.
func (d deployment) rights() ([]authorizationv1.ResourceAttributes, error) {
	c := d.configuration
	roles, err := config.Roles(config.Profile{
		Webhooks: c.Webhook.Enabled, Controllers: c.Controllers.Enabled, Kinds: c.Kinds, Canaries: c.HasCanaries(),
		ClusterAccess: c.ClusterAccess,
	})
	if err != nil {
		return nil, err
	}
	var all []authorizationv1.ResourceAttributes
	added := map[authorizationv1.ResourceAttributes]bool{} // several kinds need the same
	add := func(rules []rbacv1.PolicyRule, namespaces ...string) {
		for _, one := range attributes(rules, names(c)) {
			if one.Group == "cert-manager.io" && c.Webhook.Certificates.Source != options.SourceCertManager {
				continue
			}
			for _, namespace := range namespaces {
				if one.Namespace = namespace; !added[one] {
					all, added[one] = append(all, one), true
				}
			}
		}
	}
	if c.HasClusterRole() {
		add(roles.Cluster, metav1.NamespaceAll)
	}
	add(roles.Watched, c.Namespaces[:min(len(c.Namespaces), maxNamespaces)]...)
	add(roles.Own, d.Namespace)
	return all, nil
}

// names maps the names in the shipped roles to those that a configuration has instead.
func names(c *options.Configuration) map[string]string {
	d := options.Default()
	all := map[string]string{
		d.Webhook.Certificates.SecretName:             c.Webhook.Certificates.SecretName,
		d.Webhook.Certificates.CertManager.SecretName: c.Webhook.Certificates.CertManager.SecretName,
		d.RebootPolicies.FingerprintSecret:            c.RebootPolicies.FingerprintSecret,
		d.Calendar.ConfigMap:                          c.Calendar.ConfigMap,
	}
	for _, name := range d.Webhook.Configurations {
		all[name] = c.Webhook.Configuration(name[strings.LastIndex(name, "-")+1:])
	}
	return all
}

// attributes are the single rights of rules.
func attributes(rules []rbacv1.PolicyRule, names map[string]string) (all []authorizationv1.ResourceAttributes) {
	for _, rule := range rules {
		resourceNames := rule.ResourceNames
		if len(resourceNames) == 0 {
			resourceNames = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				for _, name := range resourceNames {
					for _, verb := range rule.Verbs {
						all = append(all, authorizationv1.ResourceAttributes{
							Group: group, Resource: resource, Subresource: subresource, Name: cmp.Or(names[name], name), Verb: verb,
						})
					}
				}
			}
		}
	}
	return all
}

// missing returns the rights that a user does not have, several asked for at a time.
func (r *run) missing(ctx context.Context, user, namespace string, rights []authorizationv1.ResourceAttributes) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	denied := make([]bool, len(rights))
	concurrently(len(rights), func(i int) {
		if ctx.Err() != nil {
			return
		}
		review, err := r.options.Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: &rights[i]},
		}, metav1.CreateOptions{})
		if err != nil {
			cancel(err)
			return
		}
		denied[i] = !review.Status.Allowed
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var missing []string
	for i, one := range rights {
		if denied[i] {
			missing = append(missing, describe(one))
		}
	}
	return missing, nil
}

// describe words a right.
func describe(right authorizationv1.ResourceAttributes) string {
	text := right.Verb + " on " + right.Resource
	if right.Group != "" {
		text += "." + right.Group
	}
	if right.Subresource != "" {
		text += "/" + right.Subresource
	}
	if right.Name != "" {
		text += " " + right.Name
	}
	return text + in(right.Namespace)
}
