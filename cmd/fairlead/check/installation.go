// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	installed "github.com/fairlead-dev/fairlead/cmd/fairlead/installation"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// installation holds the objects of Fairlead that were found in the cluster.
type installation struct {
	namespace   string       // of the operator
	definitions []definition // of the kinds that the operator has
	others      []definition // of the other kinds
	unread      []unreadDefinition
	deployments []deployment
	// configurations are the webhook configurations that could be read.
	configurations []configuration
}

// definition is a kind as the cluster serves it.
type definition struct {
	vet.Kind
	crd *apiextensionsv1.CustomResourceDefinition
}

// unreadDefinition is why a CRD could not be read.
type unreadDefinition struct {
	kind string
	Result
}

func (d definition) object() string { return "CustomResourceDefinition " + d.crd.Name }

// service is the Service of the conversion webhook; nil where there is none.
func (d definition) service() *apiextensionsv1.ServiceReference {
	if c := d.crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
		return c.Webhook.ClientConfig.Service
	}
	return nil
}

// deployment is one of the operator's, and what its arguments configure.
type deployment struct {
	*appsv1.Deployment
	configuration *options.Configuration
}

func (d deployment) object() string { return "Deployment " + d.Namespace + "/" + d.Name }

// findDefinitions reads the CRDs, whose names no overlay can change.
func (r *run) findDefinitions(ctx context.Context) {
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	for _, kind := range vet.New(vet.Options{}).Kinds() { //nolint:contextcheck // schemas are parsed without one
		name := kind.Plural + "." + kind.Group
		d := definition{kind, &apiextensionsv1.CustomResourceDefinition{}}
		read, err := r.options.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, d.crd)
		}
		if err != nil {
			r.unread = append(r.unread, unreadDefinition{kind.Kind, unread(CheckDefinition, "CustomResourceDefinition "+name,
				"get on customresourcedefinitions.apiextensions.k8s.io", err, "install the CRDs of Fairlead")})
			continue
		}
		r.definitions = append(r.definitions, d)
	}
}

// findDeployments finds the operator's namespace and its Deployments there.
func (r *run) findDeployments(ctx context.Context) {
	r.namespace = r.options.OperatorNamespace
	for _, d := range r.definitions {
		if service := d.service(); service != nil && r.namespace == "" {
			r.namespace = service.Namespace
		}
	}
	const remedy = "install the operator, or give its namespace with --operator-namespace"
	matching := metav1.ListOptions{LabelSelector: installed.Selector, Limit: installed.MaxDeployments}
	list, err := r.options.Kubernetes.AppsV1().Deployments(r.namespace).List(ctx, matching)
	if err != nil {
		r.results = append(r.results, unread(CheckDeployment, "Deployments labeled "+installed.Selector,
			"list on deployments.apps"+in(r.namespace), err, remedy))
		return
	}
	for i := range list.Items {
		d := &list.Items[i]
		container := installed.Manager(d)
		if container == nil || r.namespace != "" && d.Namespace != r.namespace {
			continue
		}
		r.namespace = d.Namespace
		r.deployments = append(r.deployments, deployment{d, r.configurationOf(ctx, d, container)})
	}
	if list.Continue != "" {
		r.add(CheckDeployment, "Deployments labeled "+installed.Selector, Unchecked,
			fmt.Sprintf("there are more than the %d that are checked", installed.MaxDeployments),
			"take the label off those that are not the operator's")
	}
	if len(r.deployments) == 0 {
		r.add(CheckDeployment, "Deployments labeled "+installed.Selector, Failed, "there are none that run the operator"+in(r.namespace), remedy)
	}
}

// findOthers looks for operators of other namespaces that reconcile the same objects.
func (r *run) findOthers(ctx context.Context) {
	matching := metav1.ListOptions{LabelSelector: installed.Selector, Limit: installed.MaxDeployments}
	list, err := r.options.Kubernetes.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, matching)
	if err != nil || r.namespace == "" {
		return // a user who may not list them can check this one
	}
	for i := range list.Items {
		d := &list.Items[i]
		container := installed.Manager(d)
		if container == nil || d.Namespace == r.namespace {
			continue
		}
		if c := r.configurationOf(ctx, d, container); c.Controllers.Enabled && c.ReconcilesEveryNamespace() {
			r.add(CheckDeployment, "Deployment "+d.Namespace+"/"+d.Name, Failed,
				"it is of another installation that reconciles all namespaces, as the one of namespace "+r.namespace+" may: only the one whose Service the CRDs call reconciles",
				"remove one of the two installations, or give each namespaces of its own")
		}
	}
}

func in(namespace string) string {
	if namespace == "" {
		return " in all namespaces"
	}
	return " in namespace " + namespace
}

// configurationOf returns the configuration from a Deployment's arguments and the ConfigMap that it mounts. If the ConfigMap
// cannot be read, it adds a result and returns the configuration of the arguments alone.
func (r *run) configurationOf(ctx context.Context, d *appsv1.Deployment, container *corev1.Container) *options.Configuration {
	configuration, err := installed.Configuration(d, container, func(name string) (*corev1.ConfigMap, error) {
		return r.options.Kubernetes.CoreV1().ConfigMaps(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		r.add(CheckDeployment, "Deployment "+d.Namespace+"/"+d.Name, Unchecked, "its configuration could not be read: "+brief(err),
			"grant get on configmaps"+in(d.Namespace)+", or use the fairlead command of the operator's version; the check assumes the defaults")
	}
	return configuration
}
