// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// TriggerType selects the observation that a trigger makes.
//
// +kubebuilder:validation:Enum=ConfigChange;CertificateRenewal;Probe;Schedule;PodAge;EndpointsChange
type TriggerType string

// The types of trigger. Each has a member of its own in Trigger.
const (
	TriggerConfigChange       TriggerType = "ConfigChange"
	TriggerCertificateRenewal TriggerType = "CertificateRenewal"
	TriggerProbe              TriggerType = "Probe"
	TriggerSchedule           TriggerType = "Schedule"
	TriggerPodAge             TriggerType = "PodAge"
	TriggerEndpointsChange    TriggerType = "EndpointsChange"
)

// Urgency defines what a restart waits for.
//
// +kubebuilder:validation:Enum=Normal;Urgent
type Urgency string

// Possible values of urgency.
const (
	UrgencyNormal Urgency = "Normal"
	UrgencyUrgent Urgency = "Urgent"
)

// Trigger is one reason for a restart.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'ConfigChange' || !has(self.configChange)",message="configChange needs type ConfigChange"
// +kubebuilder:validation:XValidation:rule="(self.type == 'CertificateRenewal') == has(self.certificateRenewal)",message="type CertificateRenewal and certificateRenewal go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Probe') == has(self.probe)",message="type Probe and probe go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Schedule') == has(self.schedule)",message="type Schedule and schedule go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'PodAge') == has(self.podAge)",message="type PodAge and podAge go together: set both or neither"
// +kubebuilder:validation:XValidation:rule="(self.type == 'EndpointsChange') == has(self.endpointsChange)",message="type EndpointsChange and endpointsChange go together: set both or neither"
// +union
type Trigger struct {
	// name of the trigger, unique in the policy. The default is type in lower case, such as configchange.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +optional
	Name string `json:"name,omitempty"`

	// urgency is Urgent for what cannot wait, such as a revoked credential. A restart for such a trigger starts outside
	// of windows, and for all targets at once: neither maxTargets nor waves hold it. Blackouts, gates, limit and the
	// operator's cap for the cluster still apply, and so does maxUnavailable of each workload. The default is Normal.
	//
	// +optional
	Urgency *Urgency `json:"urgency,omitempty"`

	// type defines which of the members below is set. ConfigChange needs none, since all of its fields have defaults.
	//
	// +unionDiscriminator
	// +required
	Type TriggerType `json:"type,omitempty"`

	// configChange fires when the data of a ConfigMap or Secret changes. For a SecretProviderClass, it fires when the
	// versions that pods have mounted change.
	//
	// +optional
	ConfigChange *ConfigChange `json:"configChange,omitempty"`

	// certificateRenewal fires when the certificate in a Secret is renewed.
	//
	// +optional
	CertificateRenewal *CertificateRenewal `json:"certificateRenewal,omitempty"`

	// probe fires when pods fail a check.
	//
	// +optional
	Probe *Probe `json:"probe,omitempty"`

	// schedule fires at set times.
	//
	// +optional
	Schedule *ScheduleTrigger `json:"schedule,omitempty"`

	// podAge fires when a pod reaches an age.
	//
	// +optional
	PodAge *PodAge `json:"podAge,omitempty"`

	// endpointsChange fires when the addresses of an ExternalService change, or it fails over.
	//
	// +optional
	EndpointsChange *EndpointsChange `json:"endpointsChange,omitempty"`
}

// Discovery defines how the sources of a ConfigChange are found.
//
// +kubebuilder:validation:Enum=Referenced;Explicit
type Discovery string

const (
	// DiscoveryReferenced watches what the target's pod template refers to, and the listed sources. The annotation
	// fairlead.dev/restart-on-change of the target may name others instead of those that the template refers to.
	DiscoveryReferenced Discovery = "Referenced"
	// DiscoveryExplicit watches only the listed sources.
	DiscoveryExplicit Discovery = "Explicit"
)

// SourceAction defines what happens when a source appears or disappears.
//
// +kubebuilder:validation:Enum=Ignore;Restart
type SourceAction string

// The actions when a source appears or disappears.
const (
	SourceIgnore  SourceAction = "Ignore"
	SourceRestart SourceAction = "Restart"
)

// ConfigChange fires when the data of a source differs from what the target was last restarted for. The first
// observation of a source becomes its baseline and does not fire.
//
// +kubebuilder:validation:XValidation:rule="self.?discovery.orValue('Referenced') == 'Referenced' || (has(self.sources) && size(self.sources) > 0)",message="sources is required when discovery is Explicit"
type ConfigChange struct {
	// discovery is Referenced or Explicit. The default is Referenced.
	//
	// +optional
	Discovery *Discovery `json:"discovery,omitempty"`

	// sources are ConfigMaps, Secrets and SecretProviderClasses of the policy's own namespace.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Sources []ConfigSource `json:"sources,omitempty"`

	// exclude lists sources, or keys of sources, that do not count even if they are referred to, listed or selected.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Exclude []ExcludedSource `json:"exclude,omitempty"`

	// onCreate defines what happens when a source appears that was known to be missing. The default is Ignore.
	//
	// +optional
	OnCreate *SourceAction `json:"onCreate,omitempty"`

	// onDelete defines what happens when a source disappears. The default is Ignore.
	//
	// +optional
	OnDelete *SourceAction `json:"onDelete,omitempty"`
}

// SourceKind is a kind that holds configuration: ConfigMap, Secret, or SecretProviderClass of the Secrets Store CSI
// driver.
//
// +kubebuilder:validation:Enum=ConfigMap;Secret;SecretProviderClass
type SourceKind string

// The kinds of sources.
const (
	SourceConfigMap SourceKind = "ConfigMap"
	SourceSecret    SourceKind = "Secret"

	// SourceSecretProviderClass counts by what pods have mounted: its keys are the ids of the objects, and its values
	// their versions.
	SourceSecretProviderClass SourceKind = "SecretProviderClass"
)

// ConfigSource is one ConfigMap, Secret or SecretProviderClass by its name, or several ConfigMaps or Secrets by their labels.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'SecretProviderClass' || !has(self.selector)",message="a SecretProviderClass needs name: its labels are not read"
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="set exactly one of name or selector"
// +kubebuilder:validation:XValidation:rule="!has(self.keys) || has(self.name)",message="keys needs name"
type ConfigSource struct {
	// kind is ConfigMap, Secret or SecretProviderClass.
	//
	// +required
	Kind SourceKind `json:"kind,omitempty"`

	// name of the source.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// selector selects ConfigMaps or Secrets by their labels.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// keys are the keys whose values count. For a SecretProviderClass they are the ids of objects. Without any, all
	// count.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Keys []string `json:"keys,omitempty"`

	// optional lets the policy be Ready while the source does not exist, or is not mounted by a pod. The default is
	// false.
	//
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// ExcludedSource is a ConfigMap, Secret or SecretProviderClass by its name, or several by their labels, that does not
// count.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'SecretProviderClass' || !has(self.selector) || !has(self.selector.matchLabels) && !has(self.selector.matchExpressions)",message="a SecretProviderClass needs name, or an empty selector for all: its labels are not read"
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="set exactly one of name or selector"
type ExcludedSource struct {
	// kind is ConfigMap, Secret or SecretProviderClass.
	//
	// +required
	Kind SourceKind `json:"kind,omitempty"`

	// name of the source.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// selector selects sources by their labels. An empty one selects all of the kind.
	//
	// +optional
	Selector *common.LabelSelector `json:"selector,omitempty"`

	// keys are the keys whose values do not count. Without any, the whole source does not count.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Keys []string `json:"keys,omitempty"`
}

// CertificateRenewal fires when the leaf certificate in a Secret differs from the one that the target was last
// restarted for. If the certificate that its pods hold expires within 24 hours, the restart waits for no window.
type CertificateRenewal struct {
	// secretName is the Secret that holds the certificate.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	SecretName string `json:"secretName,omitempty"`

	// key of the Secret's data that holds the certificate in PEM. The default is tls.crt.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key *string `json:"key,omitempty"`
}

// ScheduleTrigger fires at set times, once for each.
type ScheduleTrigger struct {
	// cron is the times at which the trigger fires, in five fields or as a macro such as @daily.
	//
	// +required
	Cron common.Cron `json:"cron,omitempty"`

	// timeZone of cron, an IANA name such as Europe/Zurich. The default is UTC.
	//
	// +optional
	TimeZone common.TimeZone `json:"timeZone,omitempty"`

	// startingDeadline is how late the restart may start, such as when no window was open. Later than that, it is
	// skipped. By default it waits until it may start.
	//
	// +optional
	StartingDeadline common.Duration `json:"startingDeadline,omitempty"`
}

// PodAge fires when the oldest pod of a target reaches an age.
type PodAge struct {
	// max is the age, at least 10m. Each workload is restarted up to a tenth earlier, so that workloads that started
	// together do not restart together.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="max must be at least 10m"
	// +required
	Max common.Duration `json:"max,omitempty"`
}

// EndpointsEvent is something that happens to an ExternalService.
//
// +kubebuilder:validation:Enum=AddressesChanged;FailedOver;FailedBack;Recovered
type EndpointsEvent string

// The events of an ExternalService.
const (
	EndpointsAddressesChanged EndpointsEvent = "AddressesChanged"
	EndpointsFailedOver       EndpointsEvent = "FailedOver"
	EndpointsFailedBack       EndpointsEvent = "FailedBack"
	EndpointsRecovered        EndpointsEvent = "Recovered"
)

// EndpointsChange fires when the addresses of an ExternalService change, or when it fails over. It is for clients that
// keep their connections or the addresses that they resolved.
type EndpointsChange struct {
	// externalServiceName is an ExternalService of the policy's own namespace.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	ExternalServiceName string `json:"externalServiceName,omitempty"`

	// events are those on which the trigger fires. The default is AddressesChanged and FailedOver.
	//
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Events []EndpointsEvent `json:"events,omitempty"`
}
