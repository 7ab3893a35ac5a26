/* What pymqi, IBM's ibmmq and libmqm itself need to compile: types, structure sizes, and the few fields and numbers that they
 * use, for 64-bit little-endian Linux. Numbers and layouts are IBM MQ's. This is no SDK: most constants, the fields of most
 * structures, and the verbs that neither binding calls are left out. A C program of your own should use IBM's headers, or
 * declare what it needs. */
#ifndef MQEMBEDDED_CMQC_H
#define MQEMBEDDED_CMQC_H

#include <stddef.h>
#include <stdint.h>

/* pymqi tests these to find out which structures and verbs exist. */
#define MQCMDL_LEVEL_530 530
#define MQCMDL_LEVEL_600 600
#define MQCMDL_LEVEL_700 700
#define MQCMDL_LEVEL_710 710
#define MQCMDL_LEVEL_750 750
#define MQCMDL_LEVEL_800 800
/* ibmmq needs these. */
#define MQCMDL_CURRENT_LEVEL 910

#define MQENTRY
#define MQPOINTER *

typedef int32_t MQLONG, *PMQLONG;
typedef uint32_t MQULONG;
typedef int64_t MQINT64, *PMQINT64;
typedef int32_t MQINT32, *PMQINT32;
typedef int16_t MQINT16, *PMQINT16;
typedef int8_t MQINT8, *PMQINT8;
typedef int32_t MQBOOL, *PMQBOOL;
typedef float MQFLOAT32, *PMQFLOAT32;
typedef double MQFLOAT64, *PMQFLOAT64;
typedef char MQCHAR, *PMQCHAR;
typedef unsigned char MQBYTE, *PMQBYTE;
typedef void *MQPTR, *PMQVOID;
typedef MQLONG MQHCONN, *PMQHCONN;
typedef MQLONG MQHOBJ, *PMQHOBJ;
typedef int64_t MQHMSG, *PMQHMSG;
typedef MQLONG MQHBAG;
typedef MQCHAR MQCHAR4[4];
typedef MQCHAR MQCHAR48[48];
typedef MQBYTE MQBYTE24[24];
typedef MQBYTE MQBYTE128[128];

#define MQCC_OK 0
#define MQCC_WARNING 1
#define MQCC_FAILED 2
#define MQCC_UNKNOWN (-1)
#define MQRC_NONE 0
#define MQRC_BUFFER_ERROR 2004
#define MQRC_BUFFER_LENGTH_ERROR 2005
#define MQRC_CHAR_ATTR_LENGTH_ERROR 2006
#define MQRC_CONNECTION_BROKEN 2009
#define MQRC_DATA_LENGTH_ERROR 2010
#define MQRC_ENVIRONMENT_ERROR 2012
#define MQRC_HCONN_ERROR 2018
#define MQRC_INT_ATTR_COUNT_ERROR 2021
#define MQRC_NOT_AUTHORIZED 2035
#define MQRC_OPTIONS_ERROR 2046
#define MQRC_Q_MGR_NAME_ERROR 2058
#define MQRC_Q_MGR_NOT_AVAILABLE 2059
#define MQRC_SELECTOR_COUNT_ERROR 2065
#define MQRC_SELECTOR_LIMIT_EXCEEDED 2066
#define MQRC_STORAGE_NOT_AVAILABLE 2071
#define MQRC_CNO_ERROR 2139
#define MQRC_Q_MGR_QUIESCING 2161
#define MQRC_Q_MGR_STOPPING 2162
#define MQRC_CONNECTION_QUIESCING 2202
#define MQRC_CONNECTION_STOPPING 2203
#define MQRC_CALL_IN_PROGRESS 2219
#define MQRC_WRONG_VERSION 2256
#define MQRC_CD_ERROR 2277
#define MQRC_CLIENT_CONN_ERROR 2278
#define MQRC_FUNCTION_NOT_SUPPORTED 2298
#define MQRC_SCO_ERROR 2380
#define MQRC_KEY_REPOSITORY_ERROR 2381
#define MQRC_SSL_ALREADY_INITIALIZED 2391
#define MQRC_SSL_INITIALIZATION_ERROR 2393
#define MQRC_NO_CALLBACKS_ACTIVE 2446
#define MQRC_PROPERTY_NAME_TOO_BIG 2465
#define MQRC_PROPERTY_VALUE_TOO_BIG 2469
#define MQRC_HCONN_ASYNC_ACTIVE 2500
#define MQRC_CONNECTION_SUSPENDED 2521
#define MQRC_CONNECTION_STOPPED 2528
#define MQRC_HOST_NOT_AVAILABLE 2538
#define MQRC_CHANNEL_CONFIG_ERROR 2539
#define MQRC_CSP_ERROR 2595
#define MQRC_CCDT_URL_ERROR 2600

#define MQHC_UNUSABLE_HCONN (-1)
#define MQHC_UNASSOCIATED_HCONN (-3)
#define MQHO_UNUSABLE_HOBJ (-1)
#define MQHO_NONE 0
#define MQHM_UNUSABLE_HMSG (-1)
#define MQHM_NONE 0
#define MQOT_TOPIC 8

#define MQPMO_SYNCPOINT 0x00000002
#define MQPMO_NO_SYNCPOINT 0x00000004
#define MQPMO_DEFAULT_CONTEXT 0x00000020
#define MQPMO_NEW_MSG_ID 0x00000040
#define MQPMO_NEW_CORREL_ID 0x00000080
#define MQPMO_FAIL_IF_QUIESCING 0x00002000
#define MQPMO_LOGICAL_ORDER 0x00008000
#define MQPMO_ASYNC_RESPONSE 0x00010000
#define MQPMO_RESOLVE_LOCAL_Q 0x00040000
#define MQPRT_SYNC_RESPONSE 1
#define MQPRT_ASYNC_RESPONSE 2

#define MQIA_FIRST 1
#define MQIA_LAST 2000

#define MQRL_UNDEFINED (-1)
#define MQIMPO_QUERY_LENGTH 0x00000004

#define MQCCSI_APPL (-3)
#define MQVL_NULL_TERMINATED (-1)
#define MQVS_NULL_TERMINATED (-1)
#define MQ_MAX_PROPERTY_NAME_LENGTH 4095

#define MQTYPE_AS_SET 0x00000000
#define MQTYPE_NULL 0x00000002
#define MQTYPE_BOOLEAN 0x00000004
#define MQTYPE_BYTE_STRING 0x00000008
#define MQTYPE_INT8 0x00000010
#define MQTYPE_INT16 0x00000020
#define MQTYPE_INT32 0x00000040
#define MQTYPE_INT64 0x00000080
#define MQTYPE_FLOAT32 0x00000100
#define MQTYPE_FLOAT64 0x00000200
#define MQTYPE_STRING 0x00000400

/* Structures that pass through as bytes; only their sizes are needed here. */
typedef struct { MQBYTE bytes[364]; } MQMD, *PMQMD;
typedef struct { MQBYTE bytes[112]; } MQGMO, *PMQGMO;
typedef struct { MQBYTE bytes[184]; } MQPMO, *PMQPMO;
typedef struct { MQBYTE bytes[424]; } MQOD, *PMQOD;
typedef struct { MQBYTE bytes[344]; } MQSD, *PMQSD;
typedef struct { MQBYTE bytes[280]; } MQSTS, *PMQSTS;
typedef struct { MQBYTE bytes[16]; } MQSRO, *PMQSRO;
typedef struct { MQBYTE bytes[12]; } MQCMHO, *PMQCMHO;
typedef struct { MQBYTE bytes[12]; } MQDMHO, *PMQDMHO;
typedef struct { MQBYTE bytes[12]; } MQDMPO, *PMQDMPO;
typedef struct { MQBYTE bytes[20]; } MQSMPO, *PMQSMPO;
typedef struct { MQBYTE bytes[632]; } MQSCO, *PMQSCO;
/* The versions that ibmmq, compiled with this file, fills in: it uses all fields of these versions, and none of later ones. */
#define MQMD_CURRENT_VERSION 2
#define MQGMO_CURRENT_VERSION 4
#define MQPMO_CURRENT_VERSION 3
#define MQOD_CURRENT_VERSION 4
#define MQSTS_CURRENT_VERSION 2
#define MQCNO_CURRENT_VERSION 6
#define MQCSP_CURRENT_VERSION 1
#define MQOD_CURRENT_LENGTH ((MQLONG)sizeof(MQOD))
#define MQPMO_CURRENT_LENGTH ((MQLONG)sizeof(MQPMO))

typedef struct tagMQCD MQCD;
typedef MQCD *PMQCD;

typedef struct {
    MQPTR VSPtr;
    MQLONG VSOffset;
    MQLONG VSBufSize;
    MQLONG VSLength;
    MQLONG VSCCSID;
} MQCHARV, *PMQCHARV;
#define MQCHARV_DEFAULT NULL, 0, 0, 0, -3

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG AuthenticationType;
    MQBYTE Reserved1[4];
    MQPTR CSPUserIdPtr;
    MQLONG CSPUserIdOffset;
    MQLONG CSPUserIdLength;
    MQBYTE Reserved2[8];
    MQPTR CSPPasswordPtr;
    MQLONG CSPPasswordOffset;
    MQLONG CSPPasswordLength;
} MQCSP, *PMQCSP;
#define MQCSP_AUTH_USER_ID_AND_PWD 1
#define MQCSP_AUTH_ID_TOKEN 2
#define MQCSP_DEFAULT {'C', 'S', 'P', ' '}, 1, 0, {0}, NULL, 0, 0, {0}, NULL, 0, 0

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG Options;
    MQLONG ClientConnOffset;
    MQPTR ClientConnPtr;
    MQBYTE128 ConnTag;
    MQPTR SSLConfigPtr;
    MQLONG SSLConfigOffset;
    MQBYTE24 ConnectionId;
    MQLONG SecurityParmsOffset;
    MQPTR SecurityParmsPtr;
    MQPTR CCDTUrlPtr;
    MQLONG CCDTUrlOffset;
    MQLONG CCDTUrlLength;
    MQBYTE Reserved[8];
} MQCNO, *PMQCNO;
#define MQCNO_VERSION_2 2
#define MQCNO_VERSION_5 5
#define MQCNO_VERSION_6 6
#define MQCNO_NONE 0
#define MQCNO_HANDLE_SHARE_NONE 0x00000020
#define MQCNO_HANDLE_SHARE_BLOCK 0x00000040
#define MQCNO_HANDLE_SHARE_NO_BLOCK 0x00000080
#define MQCNO_CLIENT_BINDING 0x00000800
#define MQCNO_NO_CONV_SHARING 0x00010000
#define MQCNO_RECONNECT_AS_DEF 0
#define MQCNO_RECONNECT 0x01000000
#define MQCNO_RECONNECT_DISABLED 0x02000000
#define MQCNO_RECONNECT_Q_MGR 0x04000000
#define MQCNO_DEFAULT {'C', 'N', 'O', ' '}, 1, 0, 0, NULL, {0}, NULL, 0, {0}, 0, NULL, NULL, 0, 0, {0}

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG Options;
} MQBO, *PMQBO;
#define MQBO_DEFAULT {'B', 'O', ' ', ' '}, 1, 0

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG Options;
    MQLONG RequestedEncoding;
    MQLONG RequestedCCSID;
    MQLONG ReturnedEncoding;
    MQLONG ReturnedCCSID;
    MQLONG Reserved1;
    MQCHARV ReturnedName;
    MQCHAR TypeString[8];
} MQIMPO, *PMQIMPO;
#define MQIMPO_DEFAULT {'I', 'M', 'P', 'O'}, 1, 0, 546, -3, 546, 0, 0, {MQCHARV_DEFAULT}, {0}

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG Options;
    MQLONG Support;
    MQLONG Context;
    MQLONG CopyOptions;
} MQPD;
#define MQPD_DEFAULT {'P', 'D', ' ', ' '}, 1, 0, 1, 0, 22

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG CallType;
    MQHOBJ Hobj;
    MQPTR CallbackArea;
    MQPTR ConnectionArea;
    MQLONG CompCode;
    MQLONG Reason;
    MQLONG State;
    MQLONG DataLength;
    MQLONG BufferLength;
    MQLONG Flags;
    MQLONG ReconnectDelay;
} MQCBC, *PMQCBC;
#define MQCBCT_START_CALL 1
#define MQCBCT_STOP_CALL 2
#define MQCBCT_REGISTER_CALL 3
#define MQCBCT_DEREGISTER_CALL 4
#define MQCBCT_EVENT_CALL 5
#define MQCBCT_MSG_REMOVED 6
#define MQCBCT_MSG_NOT_REMOVED 7
#define MQCS_STOPPED 4

typedef void (*MQCB_FUNCTION)(MQHCONN Hconn, PMQVOID MsgDesc, PMQVOID GetMsgOpts, PMQVOID Buffer, PMQCBC Context);

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG CallbackType;
    MQLONG Options;
    MQPTR CallbackArea;
    MQPTR CallbackFunction; /* an MQCB_FUNCTION */
    MQCHAR CallbackName[128];
    MQLONG MaxMsgLength;
} MQCBD, *PMQCBD;
#define MQCBD_DEFAULT {'C', 'B', 'D', ' '}, 1, 1, 0, NULL, NULL, {0}, -1
#define MQCBT_MESSAGE_CONSUMER 1
#define MQCBT_EVENT_HANDLER 2
#define MQCBDO_START_CALL 0x00000001
#define MQCBDO_STOP_CALL 0x00000004
#define MQCBDO_REGISTER_CALL 0x00000100
#define MQCBDO_DEREGISTER_CALL 0x00000200

typedef struct {
    MQCHAR4 StrucId;
    MQLONG Version;
    MQLONG Options;
    MQLONG Reserved;
    MQPTR ConnectionArea;
} MQCTLO, *PMQCTLO;
#define MQCTLO_DEFAULT {'C', 'T', 'L', 'O'}, 1, 0, 0, NULL

#define MQOP_START 0x00000001
#define MQOP_START_WAIT 0x00000002
#define MQOP_STOP 0x00000004
#define MQOP_REGISTER 0x00000100
#define MQOP_DEREGISTER 0x00000200
#define MQOP_SUSPEND 0x00010000
#define MQOP_RESUME 0x00020000

void MQBACK(MQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason);
void MQBEGIN(MQHCONN Hconn, PMQVOID BeginOptions, PMQLONG CompCode, PMQLONG Reason);
void MQCB(MQHCONN Hconn, MQLONG Operation, PMQVOID CallbackDesc, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts,
          PMQLONG CompCode, PMQLONG Reason);
void MQCLOSE(MQHCONN Hconn, PMQHOBJ Hobj, MQLONG Options, PMQLONG CompCode, PMQLONG Reason);
void MQCMIT(MQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason);
void MQCONN(PMQCHAR QMgrName, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason);
void MQCONNX(PMQCHAR QMgrName, PMQCNO ConnectOpts, PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason);
void MQCRTMH(MQHCONN Hconn, PMQVOID CrtMsgHOpts, PMQHMSG Hmsg, PMQLONG CompCode, PMQLONG Reason);
void MQCTL(MQHCONN Hconn, MQLONG Operation, PMQVOID ControlOpts, PMQLONG CompCode, PMQLONG Reason);
void MQDISC(PMQHCONN Hconn, PMQLONG CompCode, PMQLONG Reason);
void MQDLTMH(MQHCONN Hconn, PMQHMSG Hmsg, PMQVOID DltMsgHOpts, PMQLONG CompCode, PMQLONG Reason);
void MQDLTMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID DltPropOpts, PMQVOID Name, PMQLONG CompCode, PMQLONG Reason);
void MQGET(MQHCONN Hconn, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID GetMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
           PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason);
void MQINQ(MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG Selectors, MQLONG IntAttrCount, PMQLONG IntAttrs,
           MQLONG CharAttrLength, PMQCHAR CharAttrs, PMQLONG CompCode, PMQLONG Reason);
void MQINQMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID InqPropOpts, PMQVOID Name, PMQVOID PropDesc, PMQLONG Type,
             MQLONG ValueLength, PMQVOID Value, PMQLONG DataLength, PMQLONG CompCode, PMQLONG Reason);
void MQOPEN(MQHCONN Hconn, PMQVOID ObjDesc, MQLONG Options, PMQHOBJ Hobj, PMQLONG CompCode, PMQLONG Reason);
void MQPUT(MQHCONN Hconn, MQHOBJ Hobj, PMQVOID MsgDesc, PMQVOID PutMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
           PMQLONG CompCode, PMQLONG Reason);
void MQPUT1(MQHCONN Hconn, PMQVOID ObjDesc, PMQVOID MsgDesc, PMQVOID PutMsgOpts, MQLONG BufferLength, PMQVOID Buffer,
            PMQLONG CompCode, PMQLONG Reason);
void MQSET(MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG Selectors, MQLONG IntAttrCount, PMQLONG IntAttrs,
           MQLONG CharAttrLength, PMQCHAR CharAttrs, PMQLONG CompCode, PMQLONG Reason);
void MQSETMP(MQHCONN Hconn, MQHMSG Hmsg, PMQVOID SetPropOpts, PMQVOID Name, PMQVOID PropDesc, MQLONG Type,
             MQLONG ValueLength, PMQVOID Value, PMQLONG CompCode, PMQLONG Reason);
void MQSTAT(MQHCONN Hconn, MQLONG Type, PMQVOID Stat, PMQLONG CompCode, PMQLONG Reason);
void MQSUB(MQHCONN Hconn, PMQVOID SubDesc, PMQHOBJ Hobj, PMQHOBJ Hsub, PMQLONG CompCode, PMQLONG Reason);
void MQSUBRQ(MQHCONN Hconn, MQHOBJ Hsub, MQLONG Action, PMQVOID SubRqOpts, PMQLONG CompCode, PMQLONG Reason);

#endif
